import{a}from"./chunk-W22NFLAY.js";import"./chunk-DZNUYVAK.js";import"./chunk-6Q3QCNS2.js";import"./chunk-BKEXUUC7.js";import"./chunk-JCARLN63.js";import"./chunk-ZHL25AIB.js";export{a as default};
