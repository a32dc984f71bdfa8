import { describe, expect, it } from 'vitest';
import { policy } from '../../src/approval/policy.ts';
import { cwd, dangerousCommands, harmlessCommands, local } from './corpus.ts';

const judge = (command: string) => policy.judge({ kind: 'command', command, cwd }, local);
const rulesOf = (command: string): readonly string[] => {
  const verdict = judge(command);
  return verdict.kind === 'allow' ? [] : verdict.findings.map(({ rule }) => rule);
};

describe('the corpora', () => {
  const dangerous = dangerousCommands();
  const harmless = harmlessCommands();

  it('are large, and hold nothing twice', () => {
    expect(dangerous.length).toBeGreaterThanOrEqual(300);
    expect(harmless.length).toBeGreaterThanOrEqual(300);
    expect(new Set(dangerous.map(({ command }) => command)).size).toBe(dangerous.length);
    expect(new Set(harmless).size).toBe(harmless.length);
  });

  it('are told apart without a miss and without a false alarm', () => {
    const missed = dangerous.filter(({ command }) => judge(command).kind === 'allow').map(({ command }) => command);
    const alarms = harmless
      .filter((command) => judge(command).kind !== 'allow')
      .map((command) => `${command} → ${rulesOf(command).join(' ')}`);
    console.log(
      `dangerous: ${dangerous.length - missed.length} found, ${missed.length} missed; harmless: ${harmless.length - alarms.length} let through, ${alarms.length} false alarms`,
    );
    expect({ missed, alarms }).toEqual({ missed: [], alarms: [] });
  });

  it('raise the rules they are about', () => {
    const wrong = dangerous
      .filter(({ command, rules }) => !rules.every((rule) => rulesOf(command).includes(rule)))
      .map(({ command, rules }) => `${command}: ${rules.join(' ')} is not in ${rulesOf(command).join(' ')}`);
    expect(wrong).toEqual([]);
  });

  it('refuse exactly what nobody may allow', () => {
    const wrong = dangerous
      .filter(({ command, refused }) => (judge(command).kind === 'deny') !== refused)
      .map(({ command, refused }) => `${command}: refused should be ${refused}`);
    expect(wrong).toEqual([]);
  });
});
