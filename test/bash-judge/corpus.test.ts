import { describe, expect, it } from 'vitest';
import { judge } from '../../src/bash-judge/index.ts';
import { cwd, dangerousCommands, harmlessCommands, local } from './corpus.ts';

const verdictOn = (command: string) => judge({ kind: 'command', command, cwd }, local);
const reasons = (command: string): string => {
  const verdict = verdictOn(command);
  return verdict.kind === 'allow' ? '' : verdict.findings.map(({ rule, program, target }) => `${rule}(${program} ${target})`).join(' ');
};

describe('the corpora', () => {
  const dangerous = dangerousCommands();
  const harmless = harmlessCommands();

  it('keeps the corpora large and free of duplicates', () => {
    expect(dangerous.length).toBeGreaterThanOrEqual(1_500);
    expect(harmless.length).toBeGreaterThanOrEqual(1_300);
    expect(new Set(dangerous.map(({ command }) => command)).size).toBe(dangerous.length);
    expect(new Set(harmless).size).toBe(harmless.length);
  });

  it('allows no dangerous command', () => {
    expect(dangerous.filter(({ command }) => verdictOn(command).kind === 'allow').map(({ command }) => command)).toEqual([]);
  });

  it('allows every everyday command', () => {
    const asked = harmless.filter((command) => verdictOn(command).kind !== 'allow');
    expect(asked.map((command) => `${command} → ${reasons(command)}`)).toEqual([]);
  });

  it('gives every dangerous command its expected verdict', () => {
    const wrong = dangerous.filter(({ command, verdict }) => verdictOn(command).kind !== verdict);
    expect(wrong.map(({ command, verdict }) => `${command}: not ${verdict}, ${reasons(command)}`)).toEqual([]);
  });
});
