/** Context in which code is shown whole, however long it is. */
export const WHOLE_CODE = Symbol("whole code");
