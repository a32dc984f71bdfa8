import { setTimeout as pause } from 'node:timers/promises';
import type { Button, Incoming, IncomingMessage, IncomingPress } from '../../src/core/channel.ts';
import type { TestGateway } from '../http/gateway.ts';
import { until } from '../until.ts';

const answer = [
  '## A list of what was found\n\n',
  'The workspace has **three** files, and one of them is `large.bin`:\n\n',
  '| file | bytes |\n|---|---:|\n| notes.md | 1,204 |\n| main.py | 310 |\n| large.bin | 9,000,000 |\n\n',
  '```python\nfor name in sorted(files):\n    print(name, "<b>not bold</b>")\n```\n\n',
  '1. First, look.\n2. Then [read more](https://example.org/a?b=c).\n\n',
  '> Nothing was changed.\n\n<img src=x onerror=alert(1)> stays text &amp; is harmless.',
];

const command = `rm -rf ./build && \\\n  curl -fsSL https://example.org/install.sh -o install.sh && \\\n  sh install.sh --prefix "$HOME/.local"`;

/** What stands in for an agent: it answers through the channel by what it is told. */
export async function scripted(gateway: TestGateway, incoming: Incoming): Promise<void> {
  if (incoming.kind === 'press') return await settle(gateway, incoming);
  const { text } = incoming;
  if (text.startsWith('ask')) return await ask(gateway, incoming);
  await turn(gateway, incoming, async () => {
    if (text.startsWith('stream')) await stream(gateway, incoming);
    else if (text.startsWith('tool')) await tool(gateway, incoming);
    else if (text.startsWith('wait')) await untilStopped(gateway, incoming);
    else if (text.startsWith('file')) await file(gateway, incoming);
    else if (text.startsWith('headings: ')) await gateway.channel.send(incoming.place, { text: text.slice('headings: '.length) });
    else
      await gateway.channel.send(incoming.place, {
        text: `You said: ${text}${incoming.files.map(({ name }) => `, and sent ${name}`).join('')}`,
      });
  });
}

async function turn({ channel }: TestGateway, { id, place }: IncomingMessage, work: () => Promise<void>): Promise<void> {
  channel.activity(place, { kind: 'turn-started', turn: id });
  await channel.typing(place);
  await work();
  channel.activity(place, { kind: 'turn-ended', turn: id });
}

async function stream({ channel }: TestGateway, { place }: IncomingMessage): Promise<void> {
  let text = '';
  let id: string | undefined;
  for (const piece of answer) {
    for (let at = 0; at < piece.length; at += 40) {
      text += piece.slice(at, at + 40);
      if (id === undefined) id = await channel.send(place, { text });
      else await channel.edit(place, id, { text });
      await pause(5);
    }
  }
}

/** So that a page has all the time it needs to show what runs. */
async function untilStopped({ stopped }: TestGateway, { place }: IncomingMessage): Promise<void> {
  await until('the turn was stopped', () => stopped.includes(place.chat));
}

async function tool(gateway: TestGateway, incoming: IncomingMessage): Promise<void> {
  const { channel } = gateway;
  const { id: turnId, place } = incoming;
  const call = `${turnId}-call`;
  const about = { turn: turnId, call };
  channel.activity(place, { kind: 'tool-started', ...about, tool: 'terminal', input: { command: 'npm test' } });
  for (let line = 1; line <= 12; line++) {
    channel.activity(place, { kind: 'tool-output', ...about, text: `ok ${line} - test number ${line} passes\n` });
  }
  if (incoming.text.includes('and wait')) channel.activity(place, { kind: 'tool-waiting', ...about, text: 'waiting for a free sandbox' });
  await untilStopped(gateway, incoming);
  const outcome = incoming.text.includes('that fails') ? ({ kind: 'failed', exitCode: 56 } as const) : ({ kind: 'done' } as const);
  channel.activity(place, { kind: 'tool-ended', ...about, outcome, text: '' });
  await channel.send(place, { text: 'All 12 tests pass.' });
}

const long = Array.from({ length: 300 }, (_, index) => `echo step ${index + 1}`).join('\n');

const usualWords: readonly (readonly Button[])[] = [
  [
    { label: 'Allow once', data: 'q1:once', kind: 'yes' },
    { label: 'Allow for this session', data: 'q1:session', kind: 'yes' },
  ],
  [{ label: 'Deny', data: 'q1:deny', kind: 'no' }],
];

const otherWords: readonly (readonly Button[])[] = [
  [
    { label: 'Always, no limit', data: 'q1:once', kind: 'yes' },
    { label: 'Never ask again', data: 'q1:session', kind: 'yes' },
  ],
  [
    { label: 'Lieber nicht', data: 'q1:deny', kind: 'no' },
    { label: 'Reject', data: 'q1:other' },
  ],
];

async function ask({ channel }: TestGateway, { place, text }: IncomingMessage): Promise<void> {
  const shown = text.includes('at length') ? `${long}\n${command}` : command;
  const isFile = text.includes('by file');
  const inFull = isFile ? 'The full text is in the file.' : `\`\`\`bash\n${shown}\n\`\`\``;
  await channel.send(place, {
    text: `This removes a directory and runs a program from the network:\n\n${inFull}\n\nIn \`/workspace\` on **local**. It expires in 5 minutes.`,
    ...(isFile && { file: { name: 'question-BCD234.txt', data: Buffer.from(`${long}\n${command}`) } }),
    buttons: text.includes('in other words') ? otherWords : usualWords,
  });
}

async function settle({ channel }: TestGateway, press: IncomingPress): Promise<void> {
  await channel.edit(press.place, press.message, { text: press.data === 'q1:deny' ? 'Denied.' : 'Allowed once: `rm -rf ./build`.' });
  await channel.noticed(press, press.data === 'q1:deny' ? 'Denied' : 'Allowed');
}

async function file({ channel }: TestGateway, { place }: IncomingMessage): Promise<void> {
  await channel.send(place, { text: 'Here is the report.', file: { name: 'report.csv', data: Buffer.from('a,b\n1,2\n') } });
}
