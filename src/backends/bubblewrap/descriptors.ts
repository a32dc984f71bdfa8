import { generatedEtc } from './etc.ts';

/** Descriptors of the started process; see `guest/bubblewrap-gate.bash`. That of the stage is between them. */
export const argumentsDescriptor = 3;
export const seccompDescriptor = 4;
export const readyDescriptor = 5;
/** Where bubblewrap says which process is inside. */
export const infoDescriptor = 7;
export const etcDescriptors: ReadonlyMap<string, number> = new Map(Object.keys(generatedEtc).map((name, index) => [name, 8 + index]));
