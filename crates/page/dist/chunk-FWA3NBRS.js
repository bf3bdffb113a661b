import{f as e}from"./chunk-HHR7XNBS.js";e();
