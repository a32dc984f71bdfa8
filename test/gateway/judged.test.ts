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

  it('asks once before a chat runs what it unpacked in an earlier command, also after a restart', async () => {
    const run = (command: string) => say(`/run ${command}`, 'unpacked');
    await run("mkdir p && echo 'echo the script' ran > p/x.sh && tar cf x.tar -C p x.sh && echo packed");
    await rig.shows('packed', 'unpacked');
    await run('tar xf x.tar && echo unpacked');
    await rig.shows('unpacked', 'unpacked');
    // Nothing that a command leaves in its shell changes what the host remembers.
    await run('brought() { :; }; alias brought=ls; echo forgotten');
    await rig.shows('forgotten', 'unpacked');
    await rig.quiet();
    await rig.stopGateway();
    await rig.startGateway();
    await run('sh x.sh');
    await codeIn(rig, 'unpacked');
    expect(rig.all('unpacked')).not.toContain('the script ran');
    await rig.press('Once', { from: 'ada', chat: 'unpacked' });
    await rig.shows('the script ran', 'unpacked');
    await rig.quiet();
    const cards = rig.platform.messages.filter(({ chat, buttons }) => chat === 'unpacked' && buttons?.length);
    await run('sh x.sh && echo again');
    await rig.shows('again', 'unpacked');
    expect(rig.platform.messages.filter(({ chat, buttons }) => chat === 'unpacked' && buttons?.length)).toEqual(cards);
  });

  it('runs in the next command, without a question, what a chat wrote itself', async () => {
    rig.model.script = inTurn(
      calls(['terminal', { command: "cat > own.sh <<'E'\necho 'own script ran'\nE" }]),
      calls(['terminal', { command: 'bash own.sh' }]),
      calls(['write_file', { path: 'own.sh', content: 'echo "own script ran again" > note\n' }]),
      calls(['terminal', { command: 'sh own.sh; cat note' }]),
      says('Ran.'),
    );
    await say('write and run', 'own');
    await rig.shows('Ran.', 'own');
    expect(JSON.stringify(rig.model.requests.at(-1)?.messages)).toContain('own script ran again');
    expect(rig.platform.messages.filter(({ chat, buttons }) => chat === 'own' && buttons?.length)).toEqual([]);
  });

  it("refuses a signal to Hermetic's own process, and asks about one that the chat did not start", async () => {
    await say(`/run kill -CONT ${process.pid}; echo sent`, 'signals');
    await rig.shows(/Ends Hermetic itself/, 'signals');
    await say('/run sleep 100 > /dev/null 2>&1 & echo "started as $!."', 'signals');
    const own = /started as (\d+)\./.exec(await rig.shows(/started as \d+\./, 'signals'))?.[1];
    await say(`/run kill ${own} && echo ended`, 'signals');
    await rig.shows('ended', 'signals');
    await say(`/run kill -CONT ${own}1`, 'signals');
    await codeIn(rig, 'signals');
    await rig.press('Deny', { from: 'ada', chat: 'signals' });
    await rig.quiet();
  });
});
