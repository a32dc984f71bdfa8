export { sweepCanaries } from './canary.ts';
export { type ProofOptions, prove } from './prove.ts';
export type { Sibling } from './sibling.ts';
export { proofJson, proofText } from './text.ts';
