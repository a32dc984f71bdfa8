import type { CallOrigin } from '../core/approval.ts';
import type { ChannelTraits, IncomingMessage } from '../core/channel.ts';
import type { ToolResult } from '../core/tool.ts';
import type { Role } from './access.ts';
import type { Said, SessionControls } from './command.ts';
import { commandIn } from './commands.ts';
import type { Conversation } from './conversation.ts';
import { fenced } from './fenced.ts';
import type { Heard } from './running-turn.ts';
import { sessionLines } from './session-lines.ts';

/** Names the one call that a typed command makes in its turn. */
export const commandCall = 'command';

/** Output that takes more messages than this comes as a file, of which so much is shown. */
const mostMessages = 2;
const mostBeginning = 800;

/** What a command typed in this conversation can do with it. */
export class Controls implements SessionControls {
  readonly #conversation: Conversation;
  readonly #heard: Heard;
  readonly #origin: CallOrigin;

  constructor(conversation: Conversation, heard: Heard, origin: CallOrigin) {
    this.#conversation = conversation;
    this.#heard = heard;
    this.#origin = origin;
  }

  stop(): Promise<boolean> {
    return this.#conversation.stopTurn('stopped');
  }

  async reset(): Promise<void> {
    await this.#conversation.stopTurn('a new conversation began');
    await this.#conversation.resetConversation(this.#by);
  }

  get #by(): string {
    return this.#origin.person ?? 'somebody';
  }

  async retry(): Promise<boolean> {
    const { shared, parts } = this.#conversation;
    const { inbox } = shared;
    // What is being answered at this moment is the last thing that was said, too.
    const entries = [...(await inbox.list('done', parts)), ...(await inbox.list('running', parts))];
    const said = entries.map(({ incoming }) => incoming).filter((one) => one.kind === 'message');
    // Security: only the person's own messages are repeated, not those of others and no reports.
    const own = said.filter(({ from, report }) => from.id === this.#heard.message.from.id && !report);
    const last = own.findLast((one) => commandIn(one, 'admin').kind === 'text');
    if (!last) return false;
    await this.#conversation.stopTurn('said again');
    await this.#again(last, last.text);
    return true;
  }

  async queue(text: string): Promise<void> {
    const seq = await this.#again(this.#heard.message, text);
    if (seq !== undefined) this.#conversation.keepInLine(seq);
  }

  /** A message of its own, as if it had been sent now. undefined when that was done before. */
  async #again(like: IncomingMessage, text: string): Promise<number | undefined> {
    const { shared, parts } = this.#conversation;
    const now = new Date();
    const { message, entry } = this.#heard;
    return await shared.inbox.accept(parts, { ...like, id: `${message.id}/again/${entry.seq}`, text, at: now }, now);
  }

  async steer(text: string): Promise<boolean> {
    const seq = await this.#again(this.#heard.message, text);
    const { shared, parts } = this.#conversation;
    const entry = (await shared.inbox.list('waiting', parts)).find((one) => one.seq === seq);
    const { message, role } = this.#heard;
    return entry !== undefined && this.#conversation.steer({ entry, message: { ...message, text }, role });
  }

  async runTool(name: string, input: unknown): Promise<Said> {
    const { work, running, channel, place } = this.#conversation;
    if (!running) return { text: 'No turn is running, so this cannot run.' };
    const { id: turn, signal } = running;
    const call = `${turn}/${commandCall}`;
    channel.activity?.(place, { kind: 'tool-started', turn, call, tool: name, input });
    const progress = (text: string): void => channel.activity?.(place, { kind: 'tool-output', turn, call, text });
    const result = await work.call(name, input, { run: call, origin: { ...this.#origin, isTyped: true }, signal, progress });
    channel.activity?.(place, { kind: 'tool-ended', turn, call, ok: result.ok, text: result.text });
    return shown(result, channel.traits);
  }

  async status(): Promise<string> {
    const { work, shared, running, parts } = this.#conversation;
    const { inbox, surroundings } = shared;
    const [all, waiting, questions, yolo, usage] = await Promise.all([
      surroundings.status(),
      inbox.list('waiting', parts),
      surroundings.questions.open(parts),
      surroundings.questions.yolo(parts),
      this.usage(),
    ]);
    const others = waiting.filter(({ seq }) => seq !== this.#heard.entry.seq);
    const own = sessionLines({ ...work.status(), yolo, turnSince: running?.since, pending: questions.length }, new Date());
    const alerts = surroundings.alerts?.() ?? [];
    return [...alerts, ...own, `Messages waiting: ${others.length}`, `Usage: ${usage}`, ...all].map((line) => `- ${line}`).join('\n');
  }

  async usage(): Promise<string> {
    const { shared, parts } = this.#conversation;
    const entry = await shared.conversations.find(parts);
    if (!entry) return 'No tokens used yet.';
    const { inputTokens, outputTokens, cachedTokens, cost } = entry.usage;
    const price = cost === undefined ? '' : `, about $${cost.toFixed(4)}`;
    return `${inputTokens} tokens in (${cachedTokens} of them cached), ${outputTokens} out${price}.`;
  }

  async files(path: string): Promise<Said> {
    return await this.runTool('search_files', { target: 'names', pattern: '*', path: path === '' ? '.' : path, limit: 100 });
  }

  async model(name: string | undefined): Promise<string> {
    const { shared, parts, title, place } = this.#conversation;
    const { conversations, surroundings } = shared;
    const entry = await conversations.session(parts, { title, place }, new Date());
    const chosen = name ?? (typeof entry.choices.model === 'string' ? entry.choices.model : undefined);
    const { id } = await surroundings.model(chosen);
    if (name !== undefined) await conversations.choose(parts, 'model', name);
    return name === undefined ? `The model is ${id}.` : `This session now uses ${id}.`;
  }

  async questions(): Promise<string> {
    const { shared, parts } = this.#conversation;
    const { questions } = shared.surroundings;
    const own = await questions.open(parts);
    const { message, role } = this.#heard;
    // Security: what others want to run is shown where no one else reads along.
    const all = message.isDirect ? await questions.answerable({ person: this.#by, isAdmin: role === 'admin' }) : [];
    const others = all.filter(({ code }) => !own.some((one) => one.code === code));
    const lines = [
      ...own.map(({ code, text }) => `\`${code}\`\n${fenced(text)}`),
      ...others.map(({ code, person, text }) => `\`${code}\`\n${fenced(`${person ?? 'someone at this machine'} asks:\n${text}`)}`),
    ];
    return lines.length === 0 ? 'No questions pending.' : lines.join('\n\n');
  }

  async answer(code: string, kind: 'once' | 'session' | 'always' | 'deny', remark: string | undefined): Promise<string> {
    const by = this.#by;
    const answer = kind === 'deny' ? { kind, by, remark } : { kind, by };
    return await this.#conversation.answerQuestion(code, answer, this.#heard.role);
  }

  async setYolo(on: boolean): Promise<string> {
    const { shared, parts } = this.#conversation;
    await shared.surroundings.questions.setYolo(parts, this.#by, on);
    return on
      ? 'Turned approvals off for you in this session. Everyone else is still asked. Turn them on with /yolo off or /new.'
      : 'Approvals are on again for everyone in this session.';
  }

  async pair(code: string, role: Role): Promise<string> {
    const outcome = await this.#conversation.shared.pairing.approve(code.toUpperCase(), this.#by, role, new Date());
    if (outcome.kind === 'locked') return `Too many wrong codes. Try again after ${outcome.until.toISOString()}.`;
    if (outcome.kind === 'wrong') return 'That pairing code is not valid or has expired.';
    const { person, platform } = outcome.person;
    return `\`${person}\` on ${platform} can talk to me now, as ${role}.`;
  }
}

/** Output as a chat shows it: what would take many messages is a file. */
function shown(result: ToolResult, { mostText, maxFileBytes }: ChannelTraits): Said {
  const { text } = result;
  if (!result.ok) return { text: result.failure === 'interrupted' ? 'Interrupted.' : text };
  const isLong = text.length > mostMessages * mostText && Buffer.byteLength(text) <= maxFileBytes;
  if (!isLong) return { text: fenced(text) };
  return {
    text: `${fenced(text.slice(0, mostBeginning))}\nThe full text is in the file.`,
    file: { name: 'output.txt', data: Buffer.from(text) },
  };
}
