import{n as e}from"./chunk-7FUIJOWS.js";var r={get operates(){return e.host.scope!=="read"},get hasTerminals(){return e.host.scope===void 0}};export{r as a};
