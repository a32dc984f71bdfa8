import type { Activity, Button } from '../../core/channel.ts';
import { visible } from '../../lib/visible.ts';
import { CallLines } from './call-lines.ts';
import { choicesText, type OpenQuestion } from './choices.ts';
import { GrowingText } from './growing-text.ts';
import type { Screen } from './screen.ts';
import { shownText } from './shown-text.ts';

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const spinEveryMs = 100;
/** The last change of a text may come a little after its turn is over. */
const settleMs = 400;
const maxRemembered = 50;
/** Rows below a text that grows: tools, the spinner, what is typed. */
const rowsBelow = 8;

/** Shows a conversation at a terminal. */
export class TerminalView {
  readonly #screen: Screen;
  readonly #calls = new CallLines();
  readonly #turns = new Set<string>();
  readonly #texts = new Map<string, GrowingText>();
  readonly #questions: OpenQuestion[] = [];
  /** The message that is shown while it grows. */
  #open: GrowingText | undefined;
  #settling: NodeJS.Timeout | undefined;
  #spinning: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  get isBusy(): boolean {
    return this.#turns.size > 0;
  }

  /** The one that what is typed answers. */
  get question(): OpenQuestion | undefined {
    return this.#questions[0];
  }

  message(id: string, text: string, buttons: readonly Button[]): void {
    this.#finish();
    const growing = this.#newText();
    this.#texts.set(id, growing);
    const oldest = this.#texts.keys().next();
    if (this.#texts.size > maxRemembered && !oldest.done) this.#texts.delete(oldest.value);
    this.#open = growing;
    this.#grow(growing, text, id, buttons);
    if (!this.#screen.isLive) this.#finish();
  }

  change(id: string, text: string, buttons: readonly Button[]): void {
    const growing = this.#texts.get(id) ?? this.#newText();
    if (growing !== this.#open) this.#finish();
    this.#open = growing;
    if (buttons.length === 0) this.#dropQuestion(id);
    this.#grow(growing, text, id, buttons);
  }

  #grow(growing: GrowingText, text: string, id: string, buttons: readonly Button[]): void {
    // Security: a person must see the whole question before they can say yes.
    if (!growing.grow(buttons.length > 0 ? visible(text) : text)) this.#screen.note('This replaces the text begun above:');
    this.#printed(growing.take(false));
    if (!this.isBusy || buttons.length > 0) this.#finish();
    if (buttons.length > 0) this.#ask({ message: id, buttons });
    this.redraw();
  }

  #newText(): GrowingText {
    return new GrowingText(this.#screen.isLive ? this.#screen.style : undefined);
  }

  #ask(question: OpenQuestion): void {
    const index = this.#questions.findIndex(({ message }) => message === question.message);
    if (index !== -1) this.#questions.splice(index, 1);
    this.#questions.push(question);
    if (this.question === question) this.#printChoices();
  }

  #printChoices(): void {
    if (this.question) this.#screen.note(choicesText(this.question));
  }

  answered(message: string): void {
    this.#dropQuestion(message);
    this.#printChoices();
    this.redraw();
  }

  #dropQuestion(message: string): void {
    const index = this.#questions.findIndex((one) => one.message === message);
    if (index !== -1) this.#questions.splice(index, 1);
  }

  note(text: string): void {
    this.#finish();
    this.#screen.note(shownText(text));
  }

  act(activity: Activity): void {
    const { kind, turn } = activity;
    if (kind === 'turn-started') this.#turns.add(turn);
    else if (kind === 'turn-ended') this.#endTurn(turn);
    else if (kind === 'tool-started') {
      this.#finish();
      this.#calls.started(activity);
    } else if (kind === 'tool-output') this.#calls.printed(turn, activity.call, activity.text);
    else if (kind === 'tool-waiting') this.#calls.waiting(turn, activity.call, activity.text);
    else {
      const left = this.#calls.ended(turn, activity.call, activity.outcome, activity.text);
      if (left !== undefined) this.note(left);
    }
    this.#spin();
    this.redraw();
  }

  #endTurn(turn: string): void {
    this.#turns.delete(turn);
    this.#calls.endTurn(turn);
    if (this.isBusy) return;
    this.#questions.length = 0;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#finish();
      this.redraw();
    }, settleMs);
  }

  /** Nothing moves any more. */
  close(): void {
    clearInterval(this.#spinning);
    clearTimeout(this.#settling);
    this.#spinning = undefined;
    this.#turns.clear();
    this.#questions.length = 0;
    this.#finish();
  }

  #spin(): void {
    if (this.isBusy && this.#screen.isLive) {
      this.#spinning ??= setInterval(() => {
        this.#frame += 1;
        this.redraw();
      }, spinEveryMs);
    } else {
      clearInterval(this.#spinning);
      this.#spinning = undefined;
    }
  }

  /** Ends what was open on the screen. */
  #finish(): void {
    const open = this.#open;
    this.#open = undefined;
    if (!open) return;
    const rest = open.take(true);
    this.#printed(rest);
    if (this.#screen.isLive) this.#screen.print('');
  }

  #printed(text: string | undefined): void {
    if (text !== undefined) this.#screen.print(text);
  }

  redraw(): void {
    const { columns, rows, style } = this.#screen;
    const sign = spinner[this.#frame % spinner.length] ?? '';
    const most = columns * Math.max(2, rows - rowsBelow);
    const growing = this.#open?.rest ?? '';
    const text = growing.length > most ? `…${growing.slice(-most)}` : growing;
    const working = this.question ? [] : this.#calls.isEmpty ? [`${sign} working; Ctrl-C stops it`] : this.#calls.lines(sign, columns);
    const busy = this.isBusy ? working.map((line) => style('dim', line)) : [];
    const prompt = style('bold', this.question ? 'answer> ' : '> ');
    this.#screen.show([...(text === '' ? [] : [text]), ...busy], prompt);
  }
}
