import { afterAll, describe, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { codeIn, Rig } from './rig.ts';

describe('commands of a chat on the host itself', async () => {
  const rules = { admins: ['chief'], allowedUsers: ['ada', 'bob'] };
  const rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' }, rules });
  afterAll(() => rig.close());
  const say = (text: string, chat: string, from = 'ada') => rig.say(text, { from, chat, isDirect: true, isAddressed: true });

  it('runs a command without a question when every part is known to be harmless', async () => {
    rig.model.script = inTurn(
      calls(['terminal', { command: 'mkdir -p out && echo made > out/note && cat out/note && rm -rf out' }]),
      says('Done.'),
    );
    await say('make a note', 'everyday');
    await rig.shows('Done.', 'everyday');
    expect(rig.platform.messages.filter(({ chat, buttons }) => chat === 'everyday' && buttons?.length)).toEqual([]);
  });

  it('asks about a program that is in no table, with the reason', async () => {
    await say('/run frobnicate --all', 'unknown');
    await codeIn(rig, 'unknown');
    await rig.press('Deny', { from: 'ada', chat: 'unknown' });
    await rig.quiet();
    expect(rig.platform.messages.find(({ chat }) => chat === 'unknown')?.text).toContain('Runs a program that is in no table (frobnicate');
  });

  it('judging a tangled command does not delay another chat', async () => {
    const doubling = Array.from({ length: 30 }, (_, n) => `f${n}() { f${n + 1}; f${n + 1}; }`).join('; ');
    const tangled = `x=${'a'.repeat(400)}; echo \${x##*a*a*a*a*a*b}; ${doubling}; f0`;
    await say(`/run ${tangled}`, 'tangled');
    await say('/run echo through', 'other', 'bob');
    await rig.shows('through', 'other');
    await codeIn(rig, 'tangled');
    await rig.press('Deny', { from: 'ada', chat: 'tangled' });
    await rig.quiet();
  });

  it('judges a command with the variables that the session exported earlier', async () => {
    await say('/run export GIT_SSH_COMMAND="sh x.sh"', 'exports');
    await codeIn(rig, 'exports');
    await rig.press('Once', { from: 'ada', chat: 'exports' });
    await rig.quiet();
    await say('/run git --version', 'exports');
    await codeIn(rig, 'exports');
    await rig.press('Deny', { from: 'ada', chat: 'exports' });
    await rig.quiet();
    const cards = rig.platform.messages.filter(({ chat, text }) => chat === 'exports' && text?.includes('git --version'));
    expect(cards.map(({ text }) => text).join('\n')).toContain('GIT_SSH_COMMAND=sh x.sh');
  });
});
