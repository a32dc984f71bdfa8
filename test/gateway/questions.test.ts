import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { itNeeding } from '../needs.ts';
import { until } from '../until.ts';
import { codeIn, Rig } from './rig.ts';

describe('questions', async () => {
  // What an admin types as /run is not asked about, so everybody here is a user but for the chief.
  const rules = { admins: ['chief'], allowedUsers: ['ada', 'bob'] };
  const rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' }, rules });
  afterAll(() => rig.close());
  let count = 0;
  let chat = '';
  let marker = '';
  beforeEach(() => {
    chat = `room-${++count}`;
    marker = join(rig.home, `marker-${count}`);
    rig.noticed.length = 0;
  });
  const say = (text: string, from = 'ada') => rig.say(text, { from, chat, isDirect: true, isAddressed: true });
  const press = (label: string, from = 'ada', data?: string) => rig.press(label, { from, chat, ...(data && { data }) });
  const shows = (what: string | RegExp) => rig.shows(what, chat);
  /** Needs a person, and leaves one line each time it runs. */
  const dangerous = (more = '') => `rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker}${more}`;
  const runs = (): number => (existsSync(marker) ? readFileSync(marker, 'utf8').split('\n').length - 1 : 0);
  const noticed = (what: string) => until(`somebody is told ${what}`, () => rig.noticed.find(({ text }) => text?.includes(what)));
  const isAsked = () => codeIn(rig, chat);

  it('shows the whole command with a button for each answer, and a yes runs it once', async () => {
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Cleaned.'));
    await say('clean up');
    const code = await isAsked();
    const card = rig.platform.messages.findLast((one) => one.chat === chat);
    expect(card?.text).toContain(dangerous());
    expect(card?.buttons?.flat().map(({ label }) => label)).toEqual(['Once', 'This session', 'Always', 'Deny']);
    for (const { data } of card?.buttons?.flat() ?? []) expect(Buffer.byteLength(data)).toBeLessThanOrEqual(64);
    expect(runs()).toBe(0);
    const waits = () => rig.activities.flatMap((one) => (one.kind === 'tool-waiting' ? [one.text] : []));
    await until('its card says why it does not run', () => waits().includes('waiting for an answer to its question'));
    await press('Once');
    await shows('Cleaned.');
    await noticed('Answer recorded.');
    expect(runs()).toBe(1);
    await press('Once', 'ada', `q:${code}:o`);
    await noticed('allowed once');
    await rig.quiet();
    expect(runs()).toBe(1);
  });

  it('goes on while the platform does not take the answer to a press', async () => {
    const noticing = Promise.withResolvers<void>();
    rig.noticing = noticing.promise;
    try {
      await press('Once', 'ada', 'q:000000:o');
      await until('it is told', () => rig.noticed.length > 0);
      await say('/run echo went on');
      await shows('went on');
    } finally {
      noticing.resolve();
      rig.noticing = undefined;
    }
  });

  it('shows the outcome in the card and removes its buttons', async () => {
    await say(`/run ${dangerous()}`);
    await isAsked();
    await press('Deny');
    await rig.quiet();
    expect(rig.platform.messages.filter((one) => one.chat === chat && one.buttons?.length)).toEqual([]);
    expect(rig.platform.messages.find((one) => one.chat === chat)?.text).toMatch(/echo ran[\s\S]*Denied/);
    expect(runs()).toBe(0);
  });

  itNeeding(['python3'], "asks about typed commands and scripts like about the agent's", async () => {
    await say(`/run ${dangerous()}`);
    await isAsked();
    await press('Once');
    await until('it ran', () => runs() === 1);
    await rig.quiet();
    await say(`/python import shutil; shutil.rmtree("${rig.home}/nothing", ignore_errors=True); open("${marker}", "a").write("ran\\n")`);
    await isAsked();
    await press('Once');
    await until('it ran again', () => runs() === 2);
    await rig.quiet();
  });

  it("ignores a stranger's answer and refuses other people's, by button and by command", async () => {
    await say(`/run ${dangerous()}`);
    const code = await isAsked();
    await press('Once', 'mallory');
    await press('Once', 'bob');
    await noticed('You may not answer this question.');
    await rig.say(`/approve ${code}`, { from: 'bob' });
    await rig.shows('You may not answer this question.', 'bob');
    expect(runs()).toBe(0);
    await press('Deny');
    await shows('Denied');
    await rig.quiet();
    expect(rig.noticed.filter(({ press: { from } }) => from.id === 'mallory')).toEqual([]);
    expect(runs()).toBe(0);
  });

  it('takes /approve and /deny with a code in lower case and with a remark', async () => {
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('I see.'));
    await say('clean up');
    const code = await isAsked();
    await say('/approvals');
    await shows(new RegExp(`\`${code}\`[\\s\\S]*echo ran`));
    await say(`/deny ${code.toLowerCase()} not today`);
    await shows('I see.');
    expect(JSON.stringify(rig.model.requests.at(-1)?.messages)).toContain('not today');
    expect(runs()).toBe(0);
    await say(`/run ${dangerous()}`);
    const another = await until('another is asked', async () => [await isAsked()].find((one) => one !== code));
    await say(`/approve ${another.toLowerCase()}`);
    await until('it ran', () => runs() === 1);
    await rig.quiet();
  });

  it('two open questions are each answered by their own button, in any order', async () => {
    rig.model.script = inTurn(
      calls(['terminal', { command: dangerous(' # one') }], ['terminal', { command: dangerous(' # two') }]),
      says('Both.'),
    );
    await say('twice');
    const cards = await until('both are asked', () => {
      const found = rig.platform.messages.filter((one) => one.chat === chat && one.buttons?.length);
      return found.length === 2 ? found : undefined;
    });
    const [one, two] = ['# one', '# two'].map((mark) => cards.find(({ text }) => text.includes(mark))?.buttons?.flat() ?? []);
    await press('', 'ada', two?.find(({ label }) => label === 'Deny')?.data);
    await press('', 'ada', one?.find(({ label }) => label === 'Once')?.data);
    await shows('Both.');
    expect(runs()).toBe(1);
    const results = rig.model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results.slice(-2).map(({ text }) => /not (allowed|run)|denied|said no/i.test(text))).toEqual([false, true]);
  });

  it('denies a question without an answer in time', async () => {
    const short = await Rig.start({ environment: { TERMINAL_ENV: 'local', HERMETIC_APPROVALS_TIMEOUT: '1' }, rules });
    try {
      await short.say(`/run ${dangerous()}`);
      await short.shows('No answer in time');
      await short.quiet();
      expect(runs()).toBe(0);
    } finally {
      await short.close();
    }
  });

  it('/stop withdraws the question, and a late press does nothing', async () => {
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('never said'));
    await say('clean up');
    const code = await isAsked();
    await say('/stop');
    await shows('Stopped.');
    await press('Once', 'ada', `q:${code}:o`);
    await noticed('withdrawn');
    await rig.quiet();
    expect(runs()).toBe(0);
    expect(rig.all(chat)).not.toContain('never said');
  });

  it('a new message withdraws the question in interrupt mode', async () => {
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Never mind then.'));
    await say('clean up');
    const code = await isAsked();
    await say('no, wait');
    await shows('Never mind then.');
    await press('Once', 'ada', `q:${code}:o`);
    await noticed('withdrawn');
    expect(runs()).toBe(0);
  });

  it('an open question does not delay other people or other commands', async () => {
    await say(`/run ${dangerous()}`);
    await isAsked();
    await rig.say('/run echo elsewhere', { from: 'bob' });
    await rig.shows('elsewhere', 'bob');
    await say('/status');
    await shows('Questions pending in this session: 1');
    await press('Deny');
    await rig.quiet();
  });

  it('an answer for the session holds until /new', async () => {
    await say(`/run ${dangerous()}`);
    await isAsked();
    await press('This session');
    await until('it ran', () => runs() === 1);
    await say(`/run ${dangerous()}`);
    await until('it ran unasked', () => runs() === 2);
    await say('/new');
    await shows('Started a new conversation.');
    await rig.quiet();
    await say(`/run ${dangerous()}`);
    await isAsked();
    await press('Deny');
    await rig.quiet();
    expect(runs()).toBe(2);
  });

  it('only an admin can use /yolo, which skips questions and shows in every turn', async () => {
    const agentRuns = async (command: string, then: string) => {
      rig.model.script = inTurn(calls(['terminal', { command }]), says(then));
      await say('go on', 'chief');
    };
    await say('/yolo', 'ada');
    await shows('/yolo is for admins.');
    await say('/yolo', 'chief');
    await agentRuns(dangerous(), 'Cleaned.');
    await shows('Cleaned.');
    expect(runs()).toBe(1);
    expect(rig.all(chat)).toContain('Approvals are off for you in this session.');
    await agentRuns('rm -rf /', 'I see.');
    await shows('I see.');
    expect(JSON.stringify(rig.model.requests.at(-1)?.messages)).toContain('It was not run. This is always denied');
    await say('/yolo off', 'chief');
    await rig.quiet();
    await agentRuns(dangerous(), 'Refused.');
    await isAsked();
    await press('Deny', 'chief');
    await shows('Refused.');
    expect(runs()).toBe(1);
  });

  it("runs an admin's /run without a question, denies the hard list, and asks about scripts", async () => {
    await say(`/run ${dangerous()}`, 'chief');
    await until('it ran unasked', () => runs() === 1);
    await say('/run rm -rf /', 'chief');
    await rig.quiet();
    expect(rig.texts(chat).at(-1)).toMatch(/It was not run\. This is always denied(?![\s\S]*another way)/);
    expect(rig.all(chat)).not.toContain('May this run');
    await say(`/python open("${marker}", "a").write("ran\\n")`, 'chief');
    await isAsked();
    await press('Deny', 'chief');
    await rig.quiet();
    expect(runs()).toBe(1);
  });

  it('answers a question about /files outside of the workspace', async () => {
    await say('/files /root/.ssh');
    await isAsked();
    await press('Deny');
    await rig.quiet();
    expect(rig.noticed.at(-1)?.text).toBe('Answer recorded.');
  });

  it('sends a long question as a file with buttons', async () => {
    const long = dangerous(`\n${Array.from({ length: 400 }, (_, line) => `echo line ${line} of a long command`).join('\n')}`);
    rig.model.script = inTurn(calls(['terminal', { command: long }]), says('Done.'));
    await say('do a lot');
    const card = await until('it is asked', () => rig.platform.messages.find((one) => one.chat === chat && one.buttons?.length));
    const whole = Buffer.from(card.file?.data ?? []).toString();
    for (const line of long.split('\n')) expect(whole).toContain(line);
    await rig.press('Deny', { chat });
    await shows('Done.');
    expect(runs()).toBe(0);
  });

  it("a command cannot break out of the card's code block or imitate a question", async () => {
    await say(`/run ${dangerous()} # \u202e\`\`\`\necho "May this run? (AAAAAA)"`);
    await isAsked();
    const text = rig.texts(chat).at(-1) ?? '';
    expect(text).toContain('⟨U+202E⟩');
    expect(text).toMatch(/^````\n[\s\S]*\n````/);
    await press('Deny');
    await rig.quiet();
  });

  it('reports a button of an unknown question as expired', async () => {
    await press('', 'ada', 'q:evil');
    await noticed('This button has expired.');
    await press('', 'ada', 'q:AAAAAA:o');
    await noticed('No question has this code.');
  });
});
