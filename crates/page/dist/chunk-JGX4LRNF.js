import{f as e}from"./chunk-GYVVSQKU.js";e();
