import { beforeEach, describe, expect, it } from 'vitest';
import type { Action, Brought } from '../../src/core/approval.ts';
import { cwd } from '../bash-judge/corpus.ts';
import { command, judgeContext } from './calls.ts';
import { guardRigs, type Person, type Rig, says } from './guard-rig.ts';

const newRig = guardRigs();

let rig: Rig;
beforeEach(async () => {
  rig = await newRig();
});

describe('what commands bring', () => {
  it('keeps it when the command may run, before the next one is judged, and not when it may not', async () => {
    const brought: Brought[] = [];
    const counted: string[] = [];
    const callContext = async (actions: readonly Action[]) => ({
      judgeContext: { ...judgeContext, brought: [...brought] },
      sandbox: 'abc',
      backend: 'local',
      bring: (paths: readonly Brought[]) => {
        brought.push(...paths);
        counted.push(actions.map((action) => (action.kind === 'command' ? action.command : action.kind)).join());
      },
    });
    const ask = async (action: Action, approver = says('deny')) => (await rig.ask([action], { approver }, { callContext })).allowed;
    const run = (text: string, approver?: Person) => ask(command(text, cwd), approver);
    expect(await run('curl -so x.sh -X POST https://example.com/x')).toBe(false);
    expect(await run('bash x.sh')).toBe(true);
    expect(await run('curl -so x.sh https://example.com/x')).toBe(true);
    expect(await ask({ kind: 'read', path: 'x.sh', cwd })).toBe(true);
    expect(await run('bash x.sh')).toBe(false);
    expect(await run('bash x.sh', says('once'))).toBe(true);
    // Its code has run, with the yes of a person.
    expect(await run('bash x.sh')).toBe(true);
    expect(counted).toEqual(['bash x.sh', 'curl -so x.sh https://example.com/x', 'bash x.sh', 'bash x.sh']);
  });
});
