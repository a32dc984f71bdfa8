import { PassThrough } from 'node:stream';
import { TerminalChannel, type TerminalFiles } from '../../../src/channels/terminal/index.ts';
import { PlainScreen } from '../../../src/channels/terminal/plain-screen.ts';
import type { Screen, ScreenInput } from '../../../src/channels/terminal/screen.ts';
import type { Incoming, IncomingMessage, IncomingPress } from '../../../src/core/channel.ts';

/** A terminal in which a person would see what this remembers. */
export class SeenScreen implements Screen {
  readonly isLive = true;
  readonly columns = 80;
  readonly rows = 24;
  readonly style = (_format: unknown, text: string): string => text;
  /** What stays, in order. */
  readonly printed: string[] = [];
  live: readonly string[] = [];
  prompt = '';
  typed = '';
  isOpen = false;
  heard: ScreenInput | undefined;

  listen(heard: ScreenInput): void {
    this.heard = heard;
    this.isOpen = true;
  }

  close(): void {
    this.isOpen = false;
  }

  print(text: string): void {
    this.printed.push(text);
  }

  note(text: string): void {
    this.printed.push(text);
  }

  show(lines: readonly string[], prompt: string): void {
    this.live = lines;
    this.prompt = prompt;
  }

  clearTyped(): boolean {
    const had = this.typed !== '';
    this.typed = '';
    return had;
  }

  get all(): string {
    return this.printed.join('\n');
  }
}

export interface Rig<S extends Screen> {
  channel: TerminalChannel;
  screen: S;
  accepted: Incoming[];
  messages(): IncomingMessage[];
  presses(): IncomingPress[];
  /** How often it was left and interrupted. */
  counts: { left: number; interrupted: number };
  saved: { name: string; text: string }[];
  /** Whether everything said so far has its answer. */
  settled: { now: boolean };
}

function rig<S extends Screen>(screen: S): Rig<S> {
  const accepted: Incoming[] = [];
  const counts = { left: 0, interrupted: 0 };
  const saved: Rig<S>['saved'] = [];
  const settled = { now: true };
  const files: TerminalFiles = {
    save: async (name, data) => {
      if (name === 'full.txt') throw new Error('no space');
      saved.push({ name, text: Buffer.from(data).toString() });
      return `/saved/${name}`;
    },
    find: async (path) => {
      if (path !== 'notes.txt') throw new Error(`there is no ${path}`);
      return { path: '/here/notes.txt', name: 'notes.txt', bytes: 5 };
    },
    read: async () => Buffer.from('notes'),
  };
  const channel = new TerminalChannel({
    screen,
    person: { id: 'owner', name: 'Ada' },
    chat: 'default',
    isSettled: async () => settled.now,
    interrupt: async () => {
      counts.interrupted += 1;
      return true;
    },
    leave: () => {
      counts.left += 1;
    },
    files,
  });
  return {
    channel,
    screen,
    accepted,
    counts,
    saved,
    settled,
    messages: () => accepted.filter((one) => one.kind === 'message'),
    presses: () => accepted.filter((one) => one.kind === 'press'),
  };
}

/** With a person at a terminal. */
export async function seenRig(): Promise<Rig<SeenScreen> & { type(text: string): void }> {
  const made = rig(new SeenScreen());
  await made.channel.start(async (incoming) => void made.accepted.push(incoming));
  return { ...made, type: (text) => made.screen.heard?.line(text) };
}

/** Behind a pipe. */
export async function pipedRig() {
  const input = new PassThrough();
  const [output, notes] = [new PassThrough(), new PassThrough()];
  const read = (stream: PassThrough) => {
    let text = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    return () => text;
  };
  const made = rig(new PlainScreen({ input, output, notes }));
  const [answers, remarks] = [read(output), read(notes)];
  await made.channel.start(async (incoming) => void made.accepted.push(incoming));
  return { ...made, input, answers, remarks };
}
