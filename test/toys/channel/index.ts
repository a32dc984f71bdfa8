import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChannelDriver } from '../../../src/channels/driver.ts';
import type { Accept, Channel, ChannelState, ChannelTraits, Outgoing, Place } from '../../../src/core/channel.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import { toyOptions } from './options.ts';

export const toy = {
  kind: 'toy',
  name: 'Toy',
  secrets: [],
  summary: 'A toy: every line of in.txt is a message, answers are lines of out.txt.',
  options: toyOptions,
  setup: async () => ({ steps: [], fields: [], check: async () => 'It is a toy.', next: 'Write a line into in.txt.' }),
  create: (_context, { directory }) => new ToyChannel(directory),
} as const satisfies ChannelDriver<typeof toyOptions>;

class ToyChannel implements Channel {
  readonly kind = 'toy';
  readonly traits: ChannelTraits = {
    isOwn: false,
    maxTextLength: 4000,
    buttons: false,
    editEveryMs: undefined,
    maxFileBytes: 0,
    typing: false,
    sendsOncePerKey: false,
  };
  state: ChannelState = { kind: 'stopped' };
  readonly #directory: string;
  #timer: NodeJS.Timeout | undefined;
  #read = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(accept: Accept): Promise<void> {
    this.state = { kind: 'up', since: new Date() };
    this.#timer = setInterval(() => void this.#look(accept), 50);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.state = { kind: 'stopped' };
  }

  async send(_place: Place, { text }: Outgoing): Promise<string> {
    await appendFile(join(this.#directory, 'out.txt'), `${text}\n`);
    return String(Date.now());
  }

  async fetchFile(): Promise<Buffer> {
    throw new HermeticError('channel/refused', 'A toy has no files.');
  }

  async #look(accept: Accept): Promise<void> {
    const lines = (await readFile(join(this.#directory, 'in.txt'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
    const place: Place = { platform: this.kind, workspace: undefined, chat: 'ada', thread: undefined };
    while (this.#read < lines.length) {
      const [id, text] = [String(this.#read), lines[this.#read++] ?? ''];
      const rest = { isDirect: true, isAddressed: true, quoted: undefined, files: [] };
      await accept({ kind: 'message', id, place, from: { id: 'ada', name: 'Ada' }, at: new Date(), text, ...rest });
    }
  }
}
