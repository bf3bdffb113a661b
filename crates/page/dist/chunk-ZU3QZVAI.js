import{f as e}from"./chunk-LGAHQH6K.js";e();
