import{f as e}from"./chunk-F6YPHNYD.js";e();
