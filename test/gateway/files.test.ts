import { afterAll, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

describeContained('files', async () => {
  const rig = await Rig.start();
  afterAll(() => rig.close());

  it('puts received files read-only into the sandbox and names them to the model', async () => {
    rig.model.script = inTurn(calls(['terminal', { command: 'cat /received/*; stat -c %a /received/*' }]), says('Read.'));
    await rig.say('look at these', { files: [rig.file('notes.txt', 'some notes\n'), rig.file('../../evil\u202e.sh', 'harmless\n')] });
    await rig.shows('Read.');
    expect(rig.lastPrompt).toMatch(/\/received\/notes\.txt/);
    expect(rig.lastPrompt).not.toContain('../');
    const result = rig.model.requests.at(-1)?.messages.find(({ role }) => role === 'tool')?.text ?? '';
    expect(result).toMatch(/some notes[\s\S]*444/);
    expect(result).toContain('harmless');
  });

  it('shortens the name of a received file that is too long for a file system', async () => {
    rig.model.script = inTurn(calls(['terminal', { command: 'cat /received/文*.txt' }]), says('Long.'));
    await rig.say('and this', { files: [rig.file(`${'文'.repeat(140)}.txt`, 'arrived\n')] });
    await rig.shows('Long.');
    expect(rig.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.text).toContain('arrived');
  });

  it('tells the model which file could not be fetched, and why', async () => {
    rig.model.script = () => says('A pity.');
    await rig.say('and this', { files: [{ id: 'lost', name: 'lost.txt', mimeType: undefined, bytes: 3 }] });
    await rig.shows('A pity.');
    expect(rig.lastPrompt).toContain('lost.txt could not be fetched: the platform has lost it');
  });

  it('shows received pictures to the model', async () => {
    rig.model.script = () => says('A dot.');
    const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
    await rig.say('what is it?', { files: [rig.file('dot.png', dot, 'image/png')] });
    await rig.shows('A dot.');
    expect(JSON.stringify(rig.model.requests.at(-1)?.body)).toContain(dot.toString('base64'));
  });

  it("sends the agent's file from the sandbox to the chat, once", async () => {
    rig.model.script = inTurn(
      calls(['terminal', { command: 'seq 3 > report.csv' }]),
      calls(['send_file', { path: 'report.csv', caption: 'The report.' }]),
      says('Sent.'),
    );
    await rig.say('send me the report', { from: 'bob' });
    await rig.shows('Sent.', 'bob');
    const sent = await until('it is there', () => rig.platform.messages.filter((one) => one.chat === 'bob' && one.file));
    expect(sent.map(({ text, file }) => [text, file?.name, Buffer.from(file?.data ?? []).toString()])).toEqual([
      ['The report.', 'report.csv', '1\n2\n3\n'],
    ]);
  });

  it('puts files into the sandbox before the command they came with runs, and shows their paths', async () => {
    await rig.say('/run cat /received/table.csv', { from: 'cleo', files: [rig.file('table.csv', 'a,b\n')] });
    const answer = await rig.shows('a,b', 'cleo');
    expect(answer).toMatch(/\/received\/table\.csv[\s\S]*a,b/);
    await rig.say("/python print(open('/received/more.csv').read())", {
      from: 'cleo',
      files: [rig.file('more.csv', 'c,d\n')],
    });
    expect(await rig.shows('c,d', 'cleo')).toContain('/received/more.csv');
  });

  it('says that a command ignored its files', async () => {
    await rig.say('/whoami', { from: 'cleo', files: [rig.file('useless.txt', 'x')] });
    expect(await rig.shows('on fake', 'cleo')).toContain('The file was ignored. Send it without /whoami.');
    await rig.say('/whomai', { from: 'cleo', files: [rig.file('useless.txt', 'x'), rig.file('more.txt', 'x')] });
    expect(await rig.shows('There is no /whomai', 'cleo')).toContain('The files were ignored. Send them without /whomai.');
  });

  it('stores the same file once, and another file of the same name under a new one', async () => {
    for (const [content, path] of [
      ['one\n', 'twice.txt'],
      ['one\n', 'twice.txt'],
      ['two\n', '2-twice.txt'],
      ['two\n', '2-twice.txt'],
    ] as const) {
      const said = await rig.say('/run ls -A /received | grep -c twice', { from: 'cleo', files: [rig.file('twice.txt', content)] });
      await rig.quiet();
      const answer = rig.platform.messages.find(({ replyTo }) => replyTo === said.id)?.text ?? '';
      expect(answer).toContain(`/received/${path}\n`);
      expect(answer).toMatch(path === 'twice.txt' ? /^1$/m : /^2$/m);
    }
  });
});

describeContained('what a platform does not take', async () => {
  const rig = await Rig.start({ traits: { maxFileBytes: 2_000_000, maxCaptionLength: 10 } });
  afterAll(() => rig.close());
  const sends = (command: string, caption?: string) =>
    inTurn(calls(['terminal', { command }]), calls(['send_file', { path: 'f', caption }]), says('Done.'));
  const resultOf = (): string => rig.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.text ?? '';

  it('a file that is larger than the chat takes is refused with the limit, and nothing is said before', async () => {
    rig.model.script = sends('truncate -s 2000001 f');
    await rig.say('send it', { from: 'bob' });
    await rig.shows('Done.', 'bob');
    expect(resultOf()).toMatch(/It was not sent: it is larger than 1 MiB, the most this chat takes\. Compress or split it\./);
    expect(rig.texts('bob')).toEqual(['Done.']);
  });

  it('the agent and the chat hear of a file that the platform refuses', async () => {
    rig.model.script = sends('echo x >f');
    rig.platform.whim = ({ text }) => (text === 'f' ? 'refused' : 'fine');
    await rig.say('send it', { from: 'cleo' });
    await rig.shows('Done.', 'cleo');
    expect(resultOf()).toMatch(/It was not sent: The bot was removed from the chat\./);
    await rig.shows('The file f could not be sent here: The bot was removed from the chat.', 'cleo');
    rig.platform.whim = () => 'fine';
  });

  it('the agent hears of a refused file also when its caption is a message of its own', async () => {
    rig.model.script = sends('echo x >f', 'A caption that is too long.');
    rig.platform.whim = ({ text }) => (text === '' ? 'refused' : 'fine');
    await rig.say('send it', { from: 'bob' });
    await rig.shows('The file f could not be sent here', 'bob');
    await rig.quiet();
    expect(resultOf()).toMatch(/It was not sent: The bot was removed from the chat\./);
    rig.platform.whim = () => 'fine';
  });

  it('the agent is told that a file waits for its platform', async () => {
    const held = Promise.withResolvers<void>();
    rig.model.script = sends('echo x >f');
    rig.platform.whim = ({ text }) => (text === 'f' ? { until: held.promise } : 'fine');
    await rig.say('send it');
    await until('the call has ended', () => resultOf().includes('is kept until the chat takes it'));
    held.resolve();
    await rig.shows('Done.');
    expect(rig.platform.messages.filter(({ file }) => file?.name === 'f')).toHaveLength(1);
    rig.platform.whim = () => 'fine';
  });

  it('an answer that the platform refuses is said to have been lost, to the chat at once and once to the agent in its next turn', async () => {
    let isRefusing = true;
    rig.platform.whim = ({ text }) => (isRefusing && text === 'First.' ? 'refused' : 'fine');
    rig.model.script = ({ last }) => says(last.text.includes('one') ? 'First.' : 'Next.');
    await rig.say('one', { from: 'bob' });
    await rig.shows('A message could not be sent here: The bot was removed from the chat.', 'bob');
    isRefusing = false;
    await rig.stopGateway();
    await rig.startGateway();
    await rig.say('two', { from: 'bob' });
    await rig.shows('Next.', 'bob');
    await rig.quiet();
    const told = () => rig.model.requests.at(-1)?.messages.filter(({ text }) => text.includes('A message could not be sent here')) ?? [];
    expect(told()).toHaveLength(1);
    await rig.say('three', { from: 'bob' });
    await rig.quiet();
    expect(told()).toHaveLength(1);
    expect(rig.texts('bob').filter((text) => text.startsWith('A message could not'))).toHaveLength(1);
  });
});

describeContained('files without a model', async () => {
  const rig = await Rig.start({ model: 'none' });
  afterAll(() => rig.close());

  it('keeps received files without a model, and shows their paths', async () => {
    await rig.say('look at this', { files: [rig.file('notes.txt', 'some notes\n')] });
    await rig.shows('hermetic setup');
    expect(rig.all()).toMatch(/Your files are here:\n```\n\/received\/notes\.txt\n/);
    await rig.say('/run cat /received/notes.txt');
    await rig.shows('some notes');
  });
});
