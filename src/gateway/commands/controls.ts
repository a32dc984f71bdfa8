import { questionText } from '../../approval/question-text.ts';
import type { CallOrigin } from '../../core/approval.ts';
import type { ChannelTraits, IncomingMessage } from '../../core/channel.ts';
import { destinationText } from '../../core/egress.ts';
import { outcomeOf, type ToolResult } from '../../core/tool.ts';
import { parseDenyRule } from '../../egress/rules.ts';
import { fenced } from '../../lib/fenced.ts';
import type { Role } from '../access.ts';
import type { HostViewer } from '../questions/host-answers.ts';
import type { ChatSession } from '../session.ts';
import type { AcceptedMessage } from '../turns/running-turn.ts';
import type { Reply, SessionControls } from './command.ts';
import { commandIn } from './index.ts';
import { networkLines } from './network-lines.ts';
import { sessionLines } from './session-lines.ts';

/** Names the one call that a typed command makes in its turn. */
export const commandCall = 'command';

/** Output that takes more messages than this comes as a file, of which so much is shown. */
const maxMessages = 2;
const maxBeginning = 800;

/** The controls of one session, for a command of one person. */
export class Controls implements SessionControls {
  readonly #session: ChatSession;
  readonly #accepted: AcceptedMessage;
  readonly #origin: CallOrigin;

  constructor(session: ChatSession, accepted: AcceptedMessage, origin: CallOrigin) {
    this.#session = session;
    this.#accepted = accepted;
    this.#origin = origin;
  }

  stop(): Promise<boolean> {
    return this.#session.stopTurn('stopped');
  }

  async reset(): Promise<void> {
    await this.#session.stopTurn('a new conversation began');
    await this.#session.resetConversation(this.#by);
  }

  get #by(): string {
    return this.#origin.person ?? 'unknown';
  }

  async retry(): Promise<boolean> {
    const { inbox } = this.#session.deps.store;
    const { parts } = this.#session.id;
    // The message that is being answered now counts too.
    const entries = [...(await inbox.list('done', parts)), ...(await inbox.list('running', parts))];
    const messages = entries.map(({ incoming }) => incoming).filter((one) => one.kind === 'message');
    // Security: only the person's own messages are repeated, not those of others and no reports.
    const own = messages.filter(({ from, report }) => from.id === this.#accepted.message.from.id && !report);
    const last = own.findLast((one) => commandIn(one, 'admin').kind === 'text');
    if (!last) return false;
    await this.#session.stopTurn('repeated');
    await this.#again(last, last.text);
    return true;
  }

  async queue(text: string): Promise<void> {
    const seq = await this.#again(this.#accepted.message, text);
    if (seq !== undefined) this.#session.queue(seq);
  }

  /** A message of its own, as if it had been sent now. undefined when that was done before. */
  async #again(like: IncomingMessage, text: string): Promise<number | undefined> {
    const { deps, id } = this.#session;
    const now = new Date();
    const { message, entry } = this.#accepted;
    return await deps.store.inbox.accept(id.parts, { ...like, id: `${message.id}/again/${entry.seq}`, text, at: now }, now);
  }

  async steer(text: string): Promise<boolean> {
    const seq = await this.#again(this.#accepted.message, text);
    const { deps, id } = this.#session;
    const entry = (await deps.store.inbox.list('waiting', id.parts)).find((one) => one.seq === seq);
    const { message, role } = this.#accepted;
    return entry !== undefined && this.#session.steer({ entry, message: { ...message, text }, role });
  }

  async runTool(name: string, input: unknown): Promise<Reply> {
    const { tools, running, channel, place } = this.#session;
    if (!running) return { text: 'No turn is running, so this cannot run.' };
    const { id: turn, signal } = running;
    const call = `${turn}/${commandCall}`;
    channel.activity?.(place, { kind: 'tool-started', turn, call, tool: name, input });
    const progress = (text: string): void => channel.activity?.(place, { kind: 'tool-output', turn, call, text });
    const result = await tools.call(name, input, { run: call, origin: { ...this.#origin, isTyped: true }, signal, progress });
    channel.activity?.(place, { kind: 'tool-ended', turn, call, outcome: outcomeOf(result), text: result.text });
    return shown(result, channel.traits);
  }

  async status(): Promise<string> {
    const { tools, deps, running, id } = this.#session;
    const [{ alerts, lines }, waiting, questions, yolo, usage] = await Promise.all([
      deps.status(),
      deps.store.inbox.list('waiting', id.parts),
      deps.approvals.open(id.parts),
      deps.approvals.yolo(id.parts),
      this.usage(),
    ]);
    const others = waiting.filter(({ seq }) => seq !== this.#accepted.entry.seq);
    const own = sessionLines({ ...tools.status(), yolo, turn: running, pending: questions.length }, new Date());
    return [...alerts, ...own, `Messages waiting: ${others.length}`, `Usage: ${usage}`, ...lines].map((line) => `- ${line}`).join('\n');
  }

  async usage(): Promise<string> {
    const { deps, id } = this.#session;
    const entry = await deps.store.conversations.find(id.parts);
    if (!entry) return 'No tokens used yet.';
    const { inputTokens, outputTokens, cachedTokens, writtenTokens, cost } = entry.usage;
    const price = cost === undefined ? '' : `, about $${cost.toFixed(4)}`;
    const written = writtenTokens > 0 ? `, ${writtenTokens} written to the cache` : '';
    return `${inputTokens} tokens in (${cachedTokens} of them cached${written}), ${outputTokens} out${price}.`;
  }

  async files(path: string): Promise<Reply> {
    return await this.runTool('search_files', { target: 'names', pattern: '*', path: path === '' ? '.' : path, limit: 100 });
  }

  async model(name: string | undefined): Promise<string> {
    const { deps, id, title, place } = this.#session;
    const { conversations } = deps.store;
    if (name === undefined) return `The model is ${(await this.#session.model()).id}.`;
    const model = await deps.model(name);
    await conversations.session(id.parts, { title, place }, new Date());
    await conversations.choose(id.parts, 'model', name);
    return `This session now uses ${model.id}.`;
  }

  async questions(): Promise<string> {
    const { deps, id } = this.#session;
    const own = await deps.approvals.open(id.parts);
    const { message, role } = this.#accepted;
    // Security: questions of other sessions are shown only in a direct chat.
    const all = message.isDirect ? await deps.approvals.answerable(this.#by, role) : [];
    const others = all.filter(({ code }) => !own.some((one) => one.code === code));
    const lines = [
      ...own.map((one) => `\`${one.code}\`\n${fenced(questionText(one))}`),
      ...others.map((one) => `\`${one.code}\`\n${fenced(`${one.person ?? 'A person at this machine'} asks:\n${questionText(one)}`)}`),
    ];
    return lines.length === 0 ? 'No questions pending.' : lines.join('\n\n');
  }

  async answer(code: string, kind: 'once' | 'session' | 'always' | 'deny', remark: string | undefined): Promise<string> {
    const by = this.#by;
    const answer = kind === 'deny' ? { kind, by, remark } : { kind, by };
    const { deps, place } = this.#session;
    return await deps.approvals.answer(code, answer, this.#accepted.role, place.platform);
  }

  async network(): Promise<string> {
    const { deps, id, tools } = this.#session;
    const [facts, grants, questions] = await Promise.all([
      tools.facts(),
      deps.approvals.hostGrants(this.#viewer),
      deps.approvals.open(id.parts),
    ]);
    const { role, message } = this.#accepted;
    const about = { facts, grants, questions, isAdmin: role === 'admin', isDirect: message.isDirect, parts: id.parts };
    return networkLines(about)
      .map((line) => `- ${line}`)
      .join('\n');
  }

  async forgetHost(host: string): Promise<string> {
    const rule = parseDenyRule(host);
    if (typeof rule === 'string' || rule.isWildcard) return 'Usage: /network forget HOST[:PORT]';
    const revoked = await this.#session.deps.approvals.forgetHost(rule, this.#viewer);
    const names = [...new Set(revoked.map((one) => `\`${destinationText(one)}\``))];
    if (names.length === 0) return 'There is no answer about this host that you can take back.';
    return `Took back: ${names.join(', ')}. The next connection to it is asked about.`;
  }

  get #viewer(): HostViewer {
    return { parts: this.#session.id.parts, person: this.#by, role: this.#accepted.role };
  }

  async setYolo(on: boolean): Promise<string> {
    const { deps, id } = this.#session;
    await deps.approvals.setYolo(id.parts, this.#by, on);
    return on
      ? 'Turned approvals off for you in this session. Everyone else is still asked. Turn them on with /yolo off or /new.'
      : 'Approvals are on again for everyone in this session.';
  }

  async pair(code: string, role: Role): Promise<string> {
    const outcome = await this.#session.deps.store.pairing.approve(code.toUpperCase(), this.#by, role, new Date());
    if (outcome.kind === 'locked') return `Too many wrong codes. Try again after ${outcome.until.toISOString()}.`;
    if (outcome.kind === 'wrong') return 'That pairing code is not valid or has expired.';
    const { person, platform } = outcome.person;
    return `\`${person}\` on ${platform} can talk to me now, as ${role}.`;
  }
}

/** Output as a chat shows it; long output is a file. */
function shown(result: ToolResult, { maxTextLength, maxFileBytes }: ChannelTraits): Reply {
  const { text } = result;
  if (!result.ok) return { text: result.failure === 'interrupted' ? 'Interrupted.' : text };
  const isLong = text.length > maxMessages * maxTextLength && Buffer.byteLength(text) <= maxFileBytes;
  if (!isLong) return { text: fenced(text) };
  return {
    text: `${fenced(text.slice(0, maxBeginning))}\nThe full text is in the file.`,
    file: { name: 'output.txt', data: Buffer.from(text) },
  };
}
