import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type {
  Accept,
  Activity,
  Channel,
  ChannelState,
  ChannelTraits,
  Incoming,
  IncomingFile,
  IncomingPress,
  Outgoing,
  Person,
  Place,
} from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { within } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { readFileWithin } from '../../lib/read-file-within.ts';
import { terminalKind, terminalPlace, terminalTraits } from './index.ts';
import { protocolVersion, sentMessage, type Welcome } from './protocol.ts';
import { Wire } from './wire.ts';

export interface TerminalHostOptions {
  /** The id of every person at a terminal: only the owner of the home can connect. */
  ownerId: string;
  /** Whether everything that was said there has its answer. */
  isSettled(place: Place): Promise<boolean>;
  /** Ends what runs there. False when nothing does. */
  interrupt(place: Place): Promise<boolean>;
  /** Questions that were shown there and have no answer yet. */
  openQuestions(place: Place): Promise<{ id: string; message: Outgoing }[]>;
  /** Called when a terminal can show waiting messages. */
  onAttached(): void;
  /** Why a terminal is not let in. `ask` has it open a file, and resolves with the number of its process. */
  refusalOf(ask: (path: string) => Promise<unknown>): Promise<string | undefined>;
}

interface Terminal {
  wire: Wire;
  person: Person;
  place: Place;
  isLive: boolean;
}

/** A connection has so long to say what it wants. */
const helloMs = 10_000;
/** A terminal that takes longer than this to show something, for example because it is suspended, is disconnected. */
const answerMs = 120_000;
/** A terminal that is behind by this much misses output of commands. */
const maxUnsentBytes = 4 * 1024 * 1024;
const maxTerminals = 32;

const helloSchema = z.object({ version: z.number(), chat: z.string().min(1).max(200), name: z.string().max(200), isLive: z.boolean() });
const fileSchema = z.object({ id: z.string(), name: z.string(), bytes: z.number().optional() });
const messageSchema = z.object({ id: z.string().min(1).max(100), text: z.string(), files: z.array(fileSchema).max(100) });
const pressSchema = z.object({ id: z.string().min(1).max(100), data: z.string(), message: z.string() });

/**
 * The terminals of `hermetic chat` at a gateway that runs: one for each conversation at a time. What is to be said while there is none waits
 * in the outbox.
 */
export class TerminalHost implements Channel {
  readonly kind = terminalKind;
  readonly traits: ChannelTraits = { ...terminalTraits, editEveryMs: undefined };
  readonly #options: TerminalHostOptions;
  readonly #wires = new Set<Wire>();
  readonly #terminals = new Map<string, Terminal>();
  /** By conversation: the turns and calls that run, for a terminal that comes meanwhile. */
  readonly #running = new Map<string, Activity[]>();
  #state: ChannelState = { kind: 'stopped' };
  #accept: Accept | undefined;

  constructor(options: TerminalHostOptions) {
    this.#options = options;
  }

  get state(): ChannelState {
    return this.#state;
  }

  async start(accept: Accept): Promise<void> {
    this.#accept = accept;
    this.#state = { kind: 'up', since: new Date() };
  }

  /** Terminals stay connected until `close`: they are still shown how their turns end. */
  async stop(): Promise<void> {
    this.#accept = undefined;
    this.#state = { kind: 'stopped' };
  }

  close(): void {
    for (const wire of this.#wires) wire.close();
  }

  traitsAt({ chat }: Place): ChannelTraits | undefined {
    const terminal = this.#terminals.get(chat);
    return terminal && { ...terminalTraits, editEveryMs: terminal.isLive ? terminalTraits.editEveryMs : undefined };
  }

  async send({ chat }: Place, message: Outgoing): Promise<string> {
    const id = randomUUID();
    const terminal = this.#terminals.get(chat);
    if (message.buttons?.length && terminal && !this.#takesQuestions(terminal)) {
      throw new HermeticError('channel/refused', 'No person is at this terminal.');
    }
    await this.#call(chat, 'show', { id, message: sentMessage(message) });
    return id;
  }

  async edit({ chat }: Place, id: string, message: Outgoing): Promise<void> {
    await this.#call(chat, 'edit', { id, message: sentMessage(message) });
  }

  activity({ chat }: Place, activity: Activity): void {
    this.#remember(chat, activity);
    const terminal = this.#terminals.get(chat);
    if (activity.kind === 'tool-output' && (terminal?.wire.unsentBytes ?? 0) > maxUnsentBytes) return;
    terminal?.wire.tell('activity', activity);
  }

  async noticed({ place }: IncomingPress, text?: string): Promise<void> {
    if (text !== undefined) this.#terminals.get(place.chat)?.wire.tell('noticed', text);
  }

  /** The owner named the path, on this machine. */
  async fetchFile({ id }: IncomingFile, maxBytes: number): Promise<Buffer> {
    try {
      return await readFileWithin(id, maxBytes);
    } catch (error) {
      const reason = errorText(error);
      throw new HermeticError('channel/refused', `The file cannot be read: ${reason}`, { cause: error });
    }
  }

  /** Takes a connection to the socket of the home. */
  attach(stream: Duplex): void {
    let terminal: Terminal | undefined;
    let isGreeted = false;
    const wire = new Wire(stream, {
      handle: async (name, value) => {
        if (terminal) return await this.#handle(terminal, name, value);
        if (name !== 'hello' || isGreeted) return wire.destroy();
        isGreeted = true;
        const { welcome, joined } = await this.#greet(wire, value);
        terminal = joined;
        return welcome;
      },
      onEnd: () => {
        clearTimeout(deadline);
        this.#wires.delete(wire);
        if (terminal && this.#terminals.get(terminal.place.chat) === terminal) this.#terminals.delete(terminal.place.chat);
      },
    });
    const deadline = setTimeout(() => terminal || wire.destroy(), helloMs);
    this.#wires.add(wire);
    if (this.#wires.size > maxTerminals) wire.destroy();
  }

  async #greet(wire: Wire, value: unknown): Promise<{ welcome: Welcome; joined?: Terminal }> {
    const refuse = (message: string, hint: string): { welcome: Welcome } => ({ welcome: { ok: false, message, hint } });
    const version = (value as { version?: unknown } | null)?.version;
    if (version !== protocolVersion) {
      return refuse(
        `The running gateway takes terminals of version ${protocolVersion}; this one has version ${String(version)}.`,
        'Restart the gateway, so that both are the same version of Hermetic.',
      );
    }
    const hello = helloSchema.safeParse(value);
    if (!hello.success)
      return refuse('The name of the conversation cannot be used.', 'Choose one of at most 200 characters with --session NAME.');
    const why = await this.#options.refusalOf((path) => wire.call('identify', path));
    if (why !== undefined) return refuse(why, 'Use your own terminal, as the user who runs the gateway.');
    const { chat, name, isLive } = hello.data;
    const place = terminalPlace(chat);
    const questions = await this.#options.openQuestions(place);
    if (!this.#accept || !wire.isOpen) return refuse('The running gateway is shutting down.', 'Try again when it has ended.');
    if (this.#terminals.has(chat)) {
      return refuse('Another terminal is in this conversation.', 'Leave it there with Ctrl-D, or name another one with --session NAME.');
    }
    const joined = { wire, place, isLive, person: { id: this.#options.ownerId, name } };
    this.#terminals.set(chat, joined);
    // After the answer to `hello`.
    setImmediate(() => this.#catchUp(joined, questions));
    return { welcome: { ok: true }, joined };
  }

  /** Security: behind a pipe the next line is the answer, so only what runs in its own conversation is asked there. */
  #takesQuestions({ isLive, place }: Terminal): boolean {
    return isLive || this.#running.has(place.chat);
  }

  #catchUp(terminal: Terminal, questions: readonly { id: string; message: Outgoing }[]): void {
    const { wire, place } = terminal;
    for (const activity of this.#running.get(place.chat) ?? []) wire.tell('activity', activity);
    for (const { id, message } of this.#takesQuestions(terminal) ? questions : []) wire.tell('show', { id, message: sentMessage(message) });
    this.#options.onAttached();
  }

  async #handle({ place, person }: Terminal, name: string, value: unknown): Promise<unknown> {
    const happening = { place, from: person, at: new Date() };
    switch (name) {
      case 'message': {
        const { id, text, files } = messageSchema.parse(value);
        const named = files.map((file) => ({ ...file, bytes: file.bytes, mimeType: undefined }));
        const message = { kind: 'message', id, text, files: named, quoted: undefined, isDirect: true, isAddressed: true } as const;
        return await this.#hand({ ...happening, ...message });
      }
      case 'press':
        return await this.#hand({ ...happening, ...pressSchema.parse(value), kind: 'press' });
      case 'interrupt':
        return await this.#options.interrupt(place);
      case 'isSettled':
        return await this.#options.isSettled(place);
      default:
        throw new HermeticError('channel/refused', `The gateway knows no call of the name ${name}.`);
    }
  }

  async #hand(incoming: Incoming): Promise<void> {
    if (!this.#accept) throw new HermeticError('channel/busy', 'The gateway is shutting down.');
    await this.#accept(incoming);
  }

  /** Rejects with `channel/busy` when the terminal leaves before it has shown it: the next terminal is shown it. */
  async #call(chat: string, name: string, value: unknown): Promise<void> {
    const terminal = this.#terminals.get(chat);
    if (!terminal) throw new HermeticError('channel/busy', 'No terminal is in this conversation.');
    const shown = terminal.wire.call(name, value);
    await within(answerMs, shown, () => {
      terminal.wire.destroy();
      return shown;
    });
  }

  #remember(chat: string, activity: Activity): void {
    if (activity.kind === 'tool-output' || activity.kind === 'tool-waiting') return;
    const running = (this.#running.get(chat) ?? []).filter((one) => !isEndedBy(one, activity));
    const isStart = activity.kind === 'turn-started' || activity.kind === 'tool-started';
    const now = isStart ? [...running, activity] : running;
    if (now.length > 0) this.#running.set(chat, now);
    else this.#running.delete(chat);
  }
}

function isEndedBy(started: Activity, { kind, turn, ...end }: Activity): boolean {
  if (started.turn !== turn) return false;
  return kind === 'turn-ended' || (kind === 'tool-ended' && 'call' in started && 'call' in end && started.call === end.call);
}
