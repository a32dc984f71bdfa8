/** Completes the sentence that a name is one of a variable. */
export const variableNameRule = 'letters, digits and _, not starting with a digit';

/** Of a name that `isObjectName`. */
export const objectNameFlaw = 'every JavaScript object has this name';

/** Whether a program could have such a variable. */
export function looksLikeVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

/** Security: an object from which such a name is read, such as `__proto__`, may answer although it was never set there. No setting names one. */
export function isObjectName(name: string): boolean {
  return name in Object.prototype;
}
