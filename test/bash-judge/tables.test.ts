import { describe, expect, it } from 'vitest';
import { programs } from '../../src/bash-judge/tables/index.ts';
import { kinds, type Program } from '../../src/bash-judge/tables/program.ts';
import { rules } from '../../src/bash-judge/tables/rules.ts';

const kindNames: ReadonlySet<string> = new Set(kinds);
const optionToken = /^[-+][^\s:!]*(?::([a-z]+)\??)?(?:!([a-z/-]+))?$/;

/** Every word of a row that names something which is not there. */
function flawsIn(
  name: string,
  { options = '', operands = '', operandsWith = {}, asks, asksWithout, asksAlone, subcommands = {} }: Program,
): string[] {
  const flaws: string[] = [];
  const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');
  const check = (isThere: boolean, what: string): void => void (isThere || flaws.push(`${name}: ${what}`));
  for (const token of words(options)) {
    const [found, kind, rule] = optionToken.exec(token) ?? [];
    check(found !== undefined && (kind === undefined || kindNames.has(kind)) && (rule === undefined || Object.hasOwn(rules, rule)), token);
  }
  for (const pattern of [operands, ...Object.values(operandsWith)])
    for (const word of words(pattern)) check(kindNames.has(word.replace(/[?*+]$/, '')), word);
  for (const rule of [asks, asksWithout?.[1], asksAlone]) check(rule === undefined || Object.hasOwn(rules, rule), rule ?? '');
  return [...flaws, ...Object.entries(subcommands).flatMap(([sub, row]) => flawsIn(`${name} ${sub}`, row))];
}

describe('the program tables', () => {
  it('uses only kinds and rules that exist in the program tables', () => {
    expect(Object.entries(programs).flatMap(([name, row]) => flawsIn(name, row))).toEqual([]);
  });
});
