import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
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
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { chosen } from './choices.ts';
import type { Screen } from './screen.ts';
import { TerminalView } from './view.ts';

export interface TerminalOptions {
  screen: Screen;
  /** Whose terminal it is. */
  person: Person;
  /** Which of that person's conversations. */
  chat: string;
  /** Whether everything that was said has its answer. For a screen without a person: what comes next waits for it. */
  isSettled(): Promise<boolean>;
  /** Ends what runs. False when nothing does. */
  interrupt(): Promise<boolean>;
  /** The person wants to go, or nothing more will come. */
  leave(): void;
  files: TerminalFiles;
}

/** Files of the machine the terminal is on. */
export interface TerminalFiles {
  /** Resolves with where it is now. Never in place of another one. */
  save(name: string, data: Uint8Array): Promise<string>;
  find(path: string): Promise<{ path: string; name: string; bytes: number }>;
  read(path: string, maxBytes: number): Promise<Buffer>;
}

export const terminalKind = 'terminal';
export const terminalTraits = {
  isOwn: true,
  maxTextLength: 1_000_000,
  buttons: true,
  editEveryMs: 100,
  maxFileBytes: 50 * 1024 * 1024,
  typing: false,
  // The output of an earlier process is unknown.
  sendsOncePerKey: false,
} as const satisfies ChannelTraits;
const lookEveryMs = 50;

export function terminalPlace(chat: string): Place {
  return { platform: terminalKind, workspace: undefined, chat, thread: undefined };
}

/** One person, at a terminal or behind a pipe. A message with buttons is a question with numbers. */
export class TerminalChannel implements Channel {
  readonly kind = terminalKind;
  readonly traits: ChannelTraits;
  readonly #options: TerminalOptions;
  readonly #view: TerminalView;
  readonly #attached: IncomingFile[] = [];
  #state: ChannelState = { kind: 'stopped' };
  #accept: Accept | undefined;
  #handling: Promise<void> = Promise.resolve();
  /** Typed while a question was open, and no answer to it. */
  #refused: string | undefined;

  constructor(options: TerminalOptions) {
    this.#options = options;
    this.#view = new TerminalView(options.screen);
    this.traits = { ...terminalTraits, editEveryMs: options.screen.isLive ? terminalTraits.editEveryMs : undefined };
  }

  get state(): ChannelState {
    return this.#state;
  }

  get place(): Place {
    return terminalPlace(this.#options.chat);
  }

  async start(accept: Accept): Promise<void> {
    if (this.#accept) return;
    this.#accept = accept;
    this.#state = { kind: 'up', since: new Date() };
    this.#options.screen.listen({
      line: (text) => this.#next(() => this.#hear(text)),
      interrupt: () => void this.#interrupt(),
      end: () => this.#next(() => this.#end()),
    });
    this.#view.redraw();
  }

  async stop(): Promise<void> {
    this.#accept = undefined;
    this.#state = { kind: 'stopped' };
    this.#view.close();
    this.#options.screen.close();
    await this.#handling;
  }

  async send(_place: Place, message: Outgoing): Promise<string> {
    const id = randomUUID();
    await this.show(id, message);
    return id;
  }

  /** Under an id that was given to it elsewhere. */
  async show(id: string, { text, buttons, file }: Outgoing): Promise<void> {
    const row = (buttons ?? []).flat();
    const saved = file && (await this.#save(file.name, file.data));
    this.#view.message(id, text, row);
    if (saved !== undefined) this.#view.note(`saved as ${printable(saved)}`);
  }

  async edit(_place: Place, id: string, { text, buttons }: Outgoing): Promise<void> {
    this.#view.change(id, text, (buttons ?? []).flat());
  }

  activity(_place: Place, activity: Activity): void {
    this.#view.act(activity);
  }

  async noticed(_press: IncomingPress, text?: string): Promise<void> {
    if (text !== undefined) this.#view.note(text);
  }

  async fetchFile({ id }: IncomingFile, maxBytes: number): Promise<Buffer> {
    try {
      return await this.#options.files.read(id, maxBytes);
    } catch (error) {
      throw new HermeticError('channel/refused', `The file cannot be read: ${errorText(error)}`, { cause: error });
    }
  }

  /** Tells the person at this terminal something that is not part of the conversation. */
  note(text: string): void {
    this.#view.note(text);
  }

  /** One thing after the other, in the order in which it was typed. */
  #next(work: () => Promise<void>): void {
    this.#handling = this.#handling
      .then(async () => {
        await this.#quiet();
        if (this.#accept) await work();
      })
      .catch((error: unknown) => this.#view.note(`That did not work: ${printable(errorText(error))}`));
  }

  /** Behind a pipe the next line waits for the answer to this one, unless the line may itself be an answer. */
  async #quiet(): Promise<void> {
    const { screen, isSettled } = this.#options;
    if (screen.isLive) return;
    while (this.#accept && !this.#view.question && !(await isSettled())) await delay(lookEveryMs);
  }

  async #hear(line: string): Promise<void> {
    const { question } = this.#view;
    if (question && !line.trimStart().startsWith('/')) {
      const button = chosen(question, line);
      if (button) return await this.#press(question.message, button.data);
      if (this.#refused !== line) {
        this.#refused = line;
        return this.#view.note('That is not one of the answers. Enter it again to send it as a message.');
      }
    }
    this.#refused = undefined;
    const [, word, rest = ''] = /^\/(exit|quit|attach)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
    if (word === 'attach') return await this.#attach(rest.trim());
    if (word !== undefined) return this.#options.leave();
    if (line.trim() !== '') await this.#say(line);
  }

  /** Security: without a person to answer, a question is a no. */
  async #end(): Promise<void> {
    const { screen, leave } = this.#options;
    for (let question = this.#view.question; question && !screen.isLive; question = this.#view.question) {
      this.#view.note('There is no one to answer, so the answer is no.');
      await this.#press(question.message, question.buttons.at(-1)?.data ?? '');
      await this.#quiet();
    }
    leave();
  }

  async #say(text: string): Promise<void> {
    const files = this.#attached.splice(0);
    await this.#hand({ kind: 'message', ...this.#happening(), text, isDirect: true, isAddressed: true, quoted: undefined, files });
  }

  async #press(message: string, data: string): Promise<void> {
    this.#view.answered(message);
    await this.#hand({ kind: 'press', ...this.#happening(), data, message });
  }

  #happening(): Pick<Incoming, 'id' | 'place' | 'from' | 'at'> {
    return { id: randomUUID(), place: this.place, from: this.#options.person, at: new Date() };
  }

  async #hand(incoming: Incoming): Promise<void> {
    if (!this.#accept) throw new HermeticError('channel/busy', 'The chat is ending.');
    await this.#accept(incoming);
  }

  async #attach(path: string): Promise<void> {
    if (path === '') return this.#view.note('/attach PATH sends a file with your next message.');
    const found = await this.#options.files.find(path);
    this.#attached.push({ id: found.path, name: found.name, mimeType: undefined, bytes: found.bytes });
    this.#view.note(`${printable(found.name)} goes with your next message.`);
  }

  async #interrupt(): Promise<void> {
    const { interrupt, leave, screen } = this.#options;
    if (this.#view.isBusy) {
      this.#view.note('stopping');
      if (await interrupt().catch(() => false)) return;
    }
    if (!screen.clearTyped()) leave();
  }

  async #save(name: string, data: Uint8Array): Promise<string> {
    try {
      return await this.#options.files.save(name, data);
    } catch (error) {
      const reason = `${printable(name)} could not be saved: ${errorText(error)}`;
      this.#view.note(reason);
      throw new HermeticError('channel/refused', reason, { cause: error });
    }
  }
}
