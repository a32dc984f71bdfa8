import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { chatCommands, commandIn } from '../../src/gateway/commands/index.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

describe('command parsing', () => {
  it('reads a command with any address at the beginning of a text, and no path as a command', () => {
    const found = (text: string) => {
      const result = commandIn({ text }, 'user');
      return result.kind === 'command' ? `${result.command.name}|${result.rest}` : result.kind;
    };
    expect(found('/run ls -la')).toBe('run|ls -la');
    expect(found('  /RUN@hermetic_bot\n ls\nid ')).toBe('run|ls\nid');
    expect(found('/start')).toBe('help|');
    expect(found('/etc/hosts is wrong')).toBe('text');
    expect(found('/ run')).toBe('text');
    expect(found('please /run it')).toBe('text');
    expect(found('//')).toBe('text');
    expect(found('/yolo')).toBe('unknown');
  });

  it('suggests the nearest command for an unknown one', () => {
    expect(commandIn({ text: '/staus' }, 'user')).toMatchObject({ kind: 'unknown', say: expect.stringContaining('Did you mean /status?') });
    expect(commandIn({ text: '/xyzzy' }, 'user')).toMatchObject({ kind: 'unknown', say: 'There is no /xyzzy. /help lists the commands.' });
  });
});

describeContained('commands', async () => {
  const rig = await Rig.start();
  afterAll(() => rig.close());
  let chats = 0;
  let chat = '';
  beforeEach(() => {
    chat = `room-${++chats}`;
    rig.model.script = () => says('Fine.');
  });
  const say = (text: string, from = 'ada') => rig.say(text, { from, chat, isDirect: true, isAddressed: true });
  const shows = (what: string | RegExp) => rig.shows(what, chat);

  it('names commands as people type them on their platform', async () => {
    const slack = await Rig.start({ traits: { commandSign: '!' } });
    try {
      await slack.say('/help');
      const help = await slack.shows('`!run COMMAND`');
      expect(help).not.toContain('`/');
      await slack.say('/approve A B C');
      await slack.shows('Usage: !approve CODE');
      await slack.say('/hlp', { files: [slack.file('a.txt', 'x')] });
      const unknown = 'There is no !hlp. Did you mean !help? !help lists the commands.';
      expect(await slack.shows(unknown)).toContain('Send it without !hlp.');
    } finally {
      await slack.close();
    }
  });

  it('/help lists the commands that the asker may use', async () => {
    await say('/help', 'bob');
    const forUsers = await shows('/run COMMAND');
    expect(forUsers).not.toContain('/yolo');
    await say('/start');
    expect(await shows('/yolo')).toContain('/pair CODE');
    for (const { name } of chatCommands) expect(rig.texts(chat).at(-1)).toContain(`\`/${name}`);
  });

  it('replies to an unknown command that it is unknown', async () => {
    const { id } = await say('/fly');
    await shows('There is no /fly.');
    expect(rig.platform.messages.find((one) => one.chat === chat)?.replyTo).toBe(id);
    expect(rig.model.requests.length).toBe(0);
  });

  it('gives each tool call an id of its own', async () => {
    rig.activities.length = 0;
    for (const word of ['one', 'two']) {
      await say(`/run echo ${word}`);
      await shows(word);
    }
    const shown = rig.activities.flatMap((one) => (one.kind === 'tool-started' ? [one.call] : []));
    expect(new Set(shown).size).toBe(2);
  });

  it('/run runs in the sandbox of the session, and shows output and failure', async () => {
    await say('/run cd /tmp && export WORD=kept && echo $((6*7))');
    await shows('42');
    await say('/run echo "$WORD in $PWD"; exit 3');
    expect(await shows('kept in /tmp')).toContain('3');
    await say('/run');
    await shows('Usage: /run COMMAND');
  });

  it('/python runs a script, also one pasted as a code block, without a model', async () => {
    await say('/python ```python\nprint(6 * 7)\n```');
    await shows('42');
    await say('/python print("plain")');
    await shows('plain');
    await say('/python');
    await shows('Usage: /python CODE');
    expect(rig.model.requests.length).toBe(0);
  });

  it('output cannot end its code block', async () => {
    await say("/run printf '```\\n[a link](http://example.org)\\n'");
    expect(await shows('a link')).toMatch(/^````\n```\n\[a link\][\s\S]*\n````$/);
  });

  it('sends long output as a file', async () => {
    await say('/run seq 1 9000');
    await until('a file is there', () => rig.platform.messages.find((one) => one.chat === chat && one.file));
    await rig.quiet();
    const shown = rig.platform.messages.filter((one) => one.chat === chat);
    expect(shown.length).toBeLessThanOrEqual(2);
    expect(Buffer.from(shown.find((one) => one.file)?.file?.data ?? []).toString()).toMatch(/^1\n2\n3\n/);
  });

  it('/files lists the workspace', async () => {
    await say('/run mkdir -p sub && echo x > sub/inner.txt && echo y > outer.txt');
    await rig.quiet();
    await say('/files');
    expect(await shows('outer.txt')).toContain('inner.txt');
    await say('/files sub');
    await rig.quiet();
    expect(rig.texts(chat).at(-1)).toContain('inner.txt');
    expect(rig.texts(chat).at(-1)).not.toContain('outer.txt');
    await say('/files /nowhere');
    await rig.quiet();
    expect(rig.texts(chat).length).toBe(4);
  });

  it('/new starts a new conversation, also the first one, and keeps files', async () => {
    await say('/new');
    await shows('Started a new conversation.');
    await say('my name is Rumpelstilzchen');
    await shows('Fine.');
    await say('/run touch kept');
    await rig.quiet();
    await say('/new');
    await rig.quiet();
    await say('who am I?');
    await rig.quiet();
    expect(rig.lastPrompt).not.toContain('Rumpelstilzchen');
    await say('/files');
    await shows('kept');
  });

  it('/new ends grants, yolo and the choice of a model', async () => {
    await say('/model other-model');
    await shows('This session now uses openai-compatible/other-model.');
    await say('/yolo');
    await shows('Turned approvals off for you in this session.');
    await say('hello');
    await shows('Approvals are off for you in this session. Turn them on with /yolo off.');
    await say('/new');
    await rig.quiet();
    const before = rig.texts(chat).length;
    await say('/model');
    await say('hello again');
    await rig.quiet();
    expect(rig.texts(chat).slice(before)).toEqual(['The model is openai-compatible/scripted.', 'Fine.']);
  });

  it('every user can read /model, and only admins can change it', async () => {
    await say('/model', 'bob');
    await shows('The model is openai-compatible/scripted.');
    await say('/model other', 'bob');
    await shows('Only an admin can choose the model.');
  });

  it('/retry answers the last message again, and says when there is none', async () => {
    await say('/retry');
    await shows('There is no message to answer again.');
    rig.model.script = inTurn(says('one'), says('two'));
    await say('/run true');
    await rig.quiet();
    await say('tell me');
    await shows('one');
    await say('/retry');
    await shows('two');
    expect(rig.lastPrompt.match(/tell me/g)?.length).toBe(2);
  });

  it("/retry repeats the asker's own message only", async () => {
    rig.settings.sharing = { groups: 'shared', threads: 'shared' };
    const shared = { chat: `${chat}-shared`, isAddressed: true };
    await rig.say('words of Bob', { from: 'bob', ...shared });
    await rig.shows('Fine.', shared.chat);
    await rig.say('/retry', { from: 'ada', ...shared });
    await rig.shows('There is no message to answer again.', shared.chat);
    await rig.say('words of Ada', { from: 'ada', ...shared });
    await rig.quiet();
    await rig.say('/retry', { from: 'bob', ...shared });
    await rig.quiet();
    expect(rig.lastPrompt).not.toMatch(/from="(Ada|Cleo)">\nwords of Bob/);
    expect(rig.lastPrompt.match(/from="Bob">\nwords of Bob/g)?.length).toBe(2);
    rig.settings.sharing = { groups: 'per_user', threads: 'shared' };
  });

  it('/queue and /steer without a running turn queue a text, which is then answered', async () => {
    await say('/queue first');
    await shows('Queued.');
    await shows('Fine.');
    await rig.quiet();
    await say('/steer second');
    await shows('Nothing was running, so it is queued.');
    await rig.quiet();
    expect(rig.lastPrompt).toMatch(/first[\s\S]*second/);
    await say('/queue');
    await shows('Usage: /queue TEXT');
    await say('/steer');
    await shows('Usage: /steer TEXT');
  });

  it('/status shows where commands run and what waits, /usage the tokens, /whoami the role', async () => {
    await say('/usage', 'bob');
    await shows('No tokens used yet.');
    await say('hello');
    await shows('Fine.');
    await say('/usage');
    await shows('100 tokens in (0 of them cached), 10 out.');
    await say('/status');
    expect(await shows('all is well')).toMatch(
      /^- Nothing is running\.\n- Questions pending in this session: 0\n[\s\S]*Messages waiting: 0\n- Usage: 100 tokens in/,
    );
    await say('/run true');
    await rig.quiet();
    await say('/status');
    await shows(/Sandbox `\S+` on bubblewrap: (1 h|59 min \d+ s) left unless it is used/);
    await say('/whoami', 'bob');
    await shows('You are `bob` on fake. Your role: user.');
  });

  it('/stop says when nothing runs', async () => {
    await say('/stop');
    await shows('Nothing was running.');
  });

  it.each([
    ['/approve', 'No questions pending.'],
    ['/approve XXXXXX', 'No question has this code.'],
    ['/approve XXXXXX forever', 'Usage: /approve CODE [session|always]'],
    ['/deny', 'Usage: /deny CODE [REMARK]'],
    ['/deny XXXXXX because I say so', 'No question has this code.'],
    ['/approvals', 'No questions pending.'],
    ['/yolo maybe', 'Usage: /yolo [on|off]'],
    ['/yolo off', 'Approvals are on again for everyone in this session.'],
    ['/pair', 'Usage: /pair CODE [user|admin]'],
    ['/pair ABCDEFGH king', 'Usage: /pair CODE [user|admin]'],
  ])('%s is answered with %s', async (text, answer) => {
    await say(text);
    await shows(answer);
  });

  it("the agent's tool calls and typed commands share sandbox and state", async () => {
    rig.model.script = inTurn(calls(['terminal', { command: 'echo from the agent > shared.txt' }]), says('Written.'));
    await say('write it');
    await shows('Written.');
    await say('/run cat shared.txt');
    await shows('from the agent');
  });
});

describeContained('a chat without a model', async () => {
  const rig = await Rig.start({ model: 'none' });
  afterAll(() => rig.close());

  it('explains how to add a model, and /run works without one', async () => {
    await rig.say('hello');
    await rig.shows('hermetic setup');
    await rig.say('/run echo works');
    await rig.shows('works');
    await rig.quiet();
    expect(rig.texts().length).toBe(2);
  });
});
