import{f as e}from"./chunk-ZHL25AIB.js";e();
