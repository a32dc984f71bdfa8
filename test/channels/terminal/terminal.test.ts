import { describe, expect, it } from 'vitest';
import type { Button } from '../../../src/core/channel.ts';
import { until } from '../../until.ts';
import { pipedRig, seenRig } from './rig.ts';

const buttons: Button[][] = [
  [
    { label: 'Once', data: 'q:1:o' },
    { label: 'Always', data: 'q:1:a' },
    { label: 'Deny', data: 'q:1:d' },
  ],
];

describe('text at a terminal', () => {
  it('shows text while it grows, and prints every word once', async () => {
    const { channel, screen } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    const id = await channel.send(channel.place, { text: 'One line\nand an' });
    expect(screen.printed).toEqual(['One line']);
    expect(screen.live[0]).toBe('and an');
    await channel.edit(channel.place, id, { text: 'One line\nand another\nand' });
    await channel.edit(channel.place, id, { text: 'One line\nand another\nand the last' });
    channel.activity(channel.place, { kind: 'turn-ended', turn: 't' });
    await until('the text has its end', () => screen.printed.includes('and the last'));
    expect(screen.all.trimEnd()).toBe('One line\nand another\nand the last');
    expect(screen.live).toEqual([]);
  });

  it('continues a text below when its end comes late', async () => {
    const { channel, screen } = await seenRig();
    const id = await channel.send(channel.place, { text: 'It has th' });
    await channel.edit(channel.place, id, { text: 'It has three files' });
    expect(screen.printed.filter((line) => line !== '')).toEqual(['It has th', 'ree files']);
  });

  it('says so when another text replaces the one shown', async () => {
    const { channel, screen } = await seenRig();
    const id = await channel.send(channel.place, { text: 'wrong' });
    await channel.edit(channel.place, id, { text: 'right' });
    expect(screen.all).toMatch(/wrong[\s\S]*This replaces the text[\s\S]*right/);
  });

  it.each([
    ['an escape sequence', '\u001b]0;title\u0007\u001b[2J'],
    ['a control character of one byte', '\u009b2J'],
    ['a carriage return', 'safe\rrm -rf /'],
    ['a turned direction of writing', '\u202Egnp.exe'],
  ])('escapes control sequences in everything it shows: %s', async (_case, hostile) => {
    const { channel, screen } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    channel.activity(channel.place, { kind: 'tool-started', turn: 't', call: 'c', tool: hostile, input: { command: hostile } });
    channel.activity(channel.place, { kind: 'tool-output', turn: 't', call: 'c', text: hostile });
    const live = screen.live.join('\n');
    await channel.send(channel.place, { text: hostile, buttons: [[{ label: hostile, data: 'x' }]] });
    await channel.send(channel.place, { text: hostile, file: { name: hostile, data: Buffer.from('x') } });
    channel.activity(channel.place, {
      kind: 'tool-ended',
      turn: 't',
      call: 'c',
      outcome: { kind: 'failed', reason: 'failed' },
      text: hostile,
    });
    channel.note(hostile);
    await channel.stop();
    expect(live + screen.all).not.toMatch(/[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/u);
  });
});

describe('tools at a terminal', () => {
  it("shows the end of a running tool's output, and one line when it is done", async () => {
    const { channel, screen } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    channel.activity(channel.place, { kind: 'tool-started', turn: 't', call: 'c', tool: 'terminal', input: { command: 'npm test' } });
    channel.activity(channel.place, { kind: 'tool-output', turn: 't', call: 'c', text: 'a\nb\nc\n10%\r50%\r99%' });
    expect(screen.live[0]).toMatch(/terminal {2}npm test$/);
    expect(screen.live.slice(1)).toEqual(['  b', '  c', '  99%']);
    channel.activity(channel.place, { kind: 'tool-ended', turn: 't', call: 'c', outcome: { kind: 'done' }, text: 'exit code 0' });
    expect(screen.printed).toEqual(['✓ terminal  npm test']);
    channel.activity(channel.place, { kind: 'turn-ended', turn: 't' });
    expect(screen.live).toEqual([]);
  });

  it('ticks a command off only when it succeeded', async () => {
    const { channel, screen } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    const outcomes = [{ kind: 'failed', exitCode: 56 }, { kind: 'answered', exitCode: 1 }, { kind: 'done' }] as const;
    for (const outcome of outcomes) {
      channel.activity(channel.place, { kind: 'tool-started', turn: 't', call: 'c', tool: 'terminal', input: { command: 'npm test' } });
      channel.activity(channel.place, { kind: 'tool-ended', turn: 't', call: 'c', outcome, text: '' });
    }
    expect(screen.printed).toEqual(['✗ terminal  npm test\n  exit code 56', '• terminal  npm test', '✓ terminal  npm test']);
  });

  it('shows below a tool what it waits for, as long as it waits', async () => {
    const { channel, screen } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    channel.activity(channel.place, { kind: 'tool-started', turn: 't', call: 'c', tool: 'terminal', input: { command: 'npm test' } });
    channel.activity(channel.place, { kind: 'tool-waiting', turn: 't', call: 'c', text: 'waiting for a free sandbox' });
    expect(screen.live.slice(1)).toEqual(['  waiting for a free sandbox']);
    channel.activity(channel.place, { kind: 'tool-waiting', turn: 't', call: 'c', text: undefined });
    expect(screen.live.slice(1)).toEqual([]);
  });
});

describe('questions at a terminal', () => {
  it.each([
    ['1', 'q:1:o'],
    ['y', 'q:1:o'],
    ['2', 'q:1:a'],
    ['always', 'q:1:a'],
    ['3', 'q:1:d'],
    ['No', 'q:1:d'],
  ])('%s answers the question', async (typed, data) => {
    const { channel, screen, type, presses, messages } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    const id = await channel.send(channel.place, { text: 'May this run?', buttons });
    expect(screen.all).toContain('1 Once (y)   2 Always   3 Deny (n)');
    expect(screen.prompt).toBe('answer> ');
    type(typed);
    const press = await until('it is pressed', () => presses()[0]);
    expect(press).toMatchObject({ data, message: id, from: { id: 'owner' } });
    expect(messages()).toEqual([]);
    expect(screen.prompt).toBe('> ');
  });

  it.each(['0', '4', '1 2', 'yn', 'y\nrm', 'q:1:o'])(
    '%j does not answer the question, and is sent as a message when it is entered again',
    async (typed) => {
      const { channel, screen, type, accepted, presses } = await seenRig();
      await channel.send(channel.place, { text: 'May this run?', buttons });
      type(typed);
      await until('it is refused', () => screen.all.includes('not one of the answers'));
      expect(accepted).toEqual([]);
      type(typed);
      await until('it is sent', () => accepted.length === 1);
      expect(presses()).toEqual([]);
    },
  );

  it('takes answers one question after the other, and drops questions when the turn is over', async () => {
    const { channel, screen, type, presses, messages } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    const first = await channel.send(channel.place, { text: 'First?', buttons });
    await channel.send(channel.place, { text: 'Second?', buttons });
    type('n');
    await until('the first one is answered', () => presses().length === 1);
    expect(presses()[0]?.message).toBe(first);
    expect(screen.prompt).toBe('answer> ');
    channel.activity(channel.place, { kind: 'turn-ended', turn: 't' });
    type('y');
    await until('it is a message', () => messages().length === 1);
    expect(presses()).toHaveLength(1);
  });

  it('sends a command while a question is open', async () => {
    const { channel, type, messages } = await seenRig();
    await channel.send(channel.place, { text: 'May this run?', buttons });
    type('/stop');
    expect((await until('it is sent', () => messages()[0])).text).toBe('/stop');
  });
});

describe('keys at a terminal', () => {
  it('Ctrl-C stops the turn, then clears the typed text, then leaves', async () => {
    const { channel, screen, counts } = await seenRig();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    screen.heard?.interrupt();
    await until('it is interrupted', () => counts.interrupted === 1);
    channel.activity(channel.place, { kind: 'turn-ended', turn: 't' });
    screen.typed = 'half a sentence';
    screen.heard?.interrupt();
    expect([screen.typed, counts.left]).toEqual(['', 0]);
    screen.heard?.interrupt();
    expect(counts).toEqual({ left: 1, interrupted: 1 });
  });

  it.each(['/exit', '/quit '])('%s leaves and sends no message', async (typed) => {
    const { type, counts, accepted } = await seenRig();
    type(typed);
    await until('it is left', () => counts.left === 1);
    expect(accepted).toEqual([]);
  });
});

describe('files', () => {
  it('saves a received file and shows its path', async () => {
    const { channel, screen, saved } = await seenRig();
    await channel.send(channel.place, { text: 'the report', file: { name: 'a.csv', data: Buffer.from('1,2') } });
    expect(saved).toEqual([{ name: 'a.csv', text: '1,2' }]);
    expect(screen.all).toContain('saved as /saved/a.csv');
  });

  it('refuses a file for good that cannot be saved, and tells the person', async () => {
    const { channel, screen } = await seenRig();
    const sending = channel.send(channel.place, { text: 'x', file: { name: 'full.txt', data: Buffer.from('') } });
    await expect(sending).rejects.toMatchObject({ code: 'channel/refused' });
    expect(screen.all).toContain('no space');
  });

  it('sends attached files with the next message only', async () => {
    const { channel, type, messages, screen } = await seenRig();
    type('/attach missing.txt');
    type('/attach notes.txt');
    type('look');
    type('and now');
    await until('both are sent', () => messages().length === 2);
    expect(screen.all).toContain('there is no missing.txt');
    expect(messages().map(({ files }) => files.map(({ name }) => name))).toEqual([['notes.txt'], []]);
    const [file] = messages()[0]?.files ?? [];
    expect(file && (await channel.fetchFile(file, 100)).toString()).toBe('notes');
  });
});

describe('input from a pipe', () => {
  it('prints CommonMark unformatted, once, and everything else to the other stream', async () => {
    const { channel, answers, remarks } = await pipedRig();
    expect(channel.traits.editEveryMs).toBeUndefined();
    channel.activity(channel.place, { kind: 'turn-started', turn: 't' });
    channel.activity(channel.place, { kind: 'tool-started', turn: 't', call: 'c', tool: 'terminal', input: { command: 'ls' } });
    channel.activity(channel.place, { kind: 'tool-ended', turn: 't', call: 'c', outcome: { kind: 'done' }, text: '' });
    await channel.send(channel.place, { text: '**All** of `it`\n' });
    await channel.stop();
    expect(answers()).toBe('**All** of `it`\n');
    expect(remarks()).toBe('✓ terminal  ls\n');
  });

  it('sends each line after the previous answer, and leaves after the last', async () => {
    const { input, messages, settled, counts } = await pipedRig();
    settled.now = false;
    input.end('one\n\ntwo\n');
    expect(messages()).toEqual([]);
    settled.now = true;
    await until('all are sent', () => counts.left === 1);
    expect(messages().map(({ text }) => text)).toEqual(['one', 'two']);
  });

  it('takes the next line as the answer to a question', async () => {
    const { channel, input, presses, settled } = await pipedRig();
    settled.now = false;
    input.write('y\n');
    await channel.send(channel.place, { text: 'May this run?', buttons });
    await until('it is pressed', () => presses().length === 1);
    expect(presses()[0]?.data).toBe('q:1:o');
    settled.now = true;
  });

  it('denies a question when no line is left', async () => {
    const { channel, input, presses, settled, counts, remarks } = await pipedRig();
    settled.now = false;
    input.end();
    await channel.send(channel.place, { text: 'May this run?', buttons });
    await until('it is pressed', () => presses().length === 1);
    expect(presses()[0]?.data).toBe('q:1:d');
    settled.now = true;
    await until('it is left', () => counts.left === 1);
    expect(remarks()).toContain('the answer is no');
  });
});

it('accepts no message after it is stopped', async () => {
  const { channel, screen, type, accepted } = await seenRig();
  await channel.stop();
  type('too late');
  await channel.stop();
  expect(accepted).toEqual([]);
  expect([screen.isOpen, channel.state.kind]).toEqual([false, 'stopped']);
});
