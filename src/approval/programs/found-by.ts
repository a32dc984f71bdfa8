import { plainToken } from '../shell/values.ts';

type Texts = readonly string[];

/** Paths that stand for what find finds. */
export function foundBy(args: Texts): Texts {
  const starts = args.slice(0, firstTest(args)).filter((arg) => !/^-[HLPDO]/.test(arg));
  const names = args.filter((_, index) => /^-i?name$/.test(args[index - 1] ?? ''));
  const bases = (starts.length > 0 ? starts : ['.']).map((start) => (start === '/' ? '' : start));
  return bases.flatMap((base) => (names.length > 0 ? names : [plainToken]).map((name) => `${base}/${name}`)).slice(0, 20);
}

/** Where the places to look end and the conditions start. */
export function firstTest(args: Texts): number {
  const at = args.findIndex((arg) => /^-(?![HLPDO])|^[(!]$/.test(arg));
  return at === -1 ? args.length : at;
}
