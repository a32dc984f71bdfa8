import type { Incoming } from '../core/channel.ts';
import { type SessionId, sessionId } from '../core/session.ts';
import { isStoreFault } from '../core/set-aside.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import { errorText } from '../lib/error-text.ts';
import { hermeticForStrangers } from '../lib/own-command.ts';
import type { GatewayDeps } from './deps.ts';
import { Recovery } from './recovery.ts';
import { ChatSession } from './session.ts';
import { sessionKeyOf } from './sessions/session-key.ts';

/** How long a turn may go on after the program was asked to end. */
const drainMs = 10_000;
/** Only so many sessions at rest stay in memory. */
const maxAtRest = 100;
const maxTold = 1_000;

/** Takes messages and presses from channels, decides who may talk, and has each handled once, in order, by its session. */
export class Gateway {
  readonly #deps: GatewayDeps;
  readonly #sessions = new Map<string, ChatSession>();
  readonly #recovery: Recovery;
  /** Presses whose person knows that they could not be stored. */
  readonly #told = new BoundedMap<string, true>(maxTold);

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
    this.#recovery = new Recovery(deps, (incoming) => this.#sessionOf(incoming));
  }

  /** Resumes what an earlier program left, then listens. A channel that cannot start is logged; the others do. */
  async start(): Promise<void> {
    await this.#recovery.run();
    const { channels, log } = this.#deps;
    await Promise.all(
      [...channels.values()].map((channel) =>
        channel.start((incoming) => this.accept(incoming)).catch((error: unknown) => log(`${channel.kind}: ${errorText(error)}`)),
      ),
    );
  }

  /** Channels stop first, so no message comes in; then turns have some time to end. The next program resumes the rest. */
  async stop(): Promise<void> {
    this.#recovery.stop();
    await Promise.all([...this.#deps.channels.values()].map((channel) => channel.stop()));
    await Promise.all([...this.#sessions.values()].map((session) => session.park(drainMs)));
  }

  /** Durable when it resolves. */
  async accept(incoming: Incoming): Promise<void> {
    const { access, store, outbox } = this.#deps;
    const admission = await access.admit(incoming);
    if (admission.kind === 'ignored') return;
    if (admission.kind === 'stranger') {
      if (admission.code !== undefined) await outbox.deliver(incoming.place, `pairing/${keyOf(incoming)}`, pairingText(admission.code));
      return;
    }
    const id = this.#idOf(incoming);
    const seq = await store.inbox.accept(id.parts, incoming, new Date()).catch((error: unknown) => {
      this.#tellUnstored(incoming, error);
      throw error;
    });
    if (seq !== undefined) this.#sessionOf(incoming, id)?.wake().catch(this.#logError);
  }

  /** A press shows nothing by itself. Its channel hands it over again until it is stored. */
  #tellUnstored(incoming: Incoming, error: unknown): void {
    if (incoming.kind !== 'press' || !isStoreFault(error)) return;
    const key = keyOf(incoming);
    if (this.#told.has(key)) return;
    this.#told.set(key, true);
    // Security: people in chats are not told where the database is.
    void this.#deps.outbox.noticed(incoming, unstoredText);
  }

  /** Ends the turn that runs in this session. False when none does. */
  async stopTurn({ text }: SessionId): Promise<boolean> {
    return (await this.#sessions.get(text)?.stopTurn('stopped')) ?? false;
  }

  /** Whether everything that was written in this session has its answer. */
  async isSettled({ key, parts, text }: SessionId): Promise<boolean> {
    const { user: _, ...place } = key;
    const { store, outbox } = this.#deps;
    // In this order, so that nothing is missed: a message goes from the inbox to a turn, and a turn puts its answers into the outbox before it ends.
    for (const state of ['waiting', 'running'] as const) if ((await store.inbox.list(state, parts)).length > 0) return false;
    return !this.#sessions.get(text)?.isBusy && (await outbox.isEmpty(place));
  }

  get busy(): number {
    return [...this.#sessions.values()].filter(({ isBusy }) => isBusy).length;
  }

  /** The sessions in which something runs or a sandbox is open. */
  get active(): { id: SessionId; title: string; activity: NonNullable<ChatSession['activity']> }[] {
    return [...this.#sessions.values()].flatMap(({ id, title, activity }) => (activity ? [{ id, title, activity }] : []));
  }

  /** How many sessions are in memory. */
  get held(): number {
    return this.#sessions.size;
  }

  #idOf(incoming: Incoming): SessionId {
    return sessionId(sessionKeyOf(incoming, this.#deps.settings.sharing));
  }

  #sessionOf(incoming: Incoming, id = this.#idOf(incoming)): ChatSession | undefined {
    const known = this.#sessions.get(id.text);
    if (known) return known;
    const { platform } = id.key;
    const channel = this.#deps.channels.get(platform);
    if (!channel) return undefined;
    this.#makeRoom();
    const session = new ChatSession(id, channel, `${platform} ${incoming.from.name}`, this.#deps);
    this.#sessions.set(id.text, session);
    return session;
  }

  /** Forgets the oldest sessions at rest. Everything about them is in the store. */
  #makeRoom(): void {
    const atRest = [...this.#sessions].filter(([, session]) => session.isAtRest);
    for (const [text] of atRest.slice(0, Math.max(0, atRest.length - maxAtRest + 1))) this.#sessions.delete(text);
  }

  readonly #logError = (error: unknown): void => this.#deps.log(errorText(error));
}

const unstoredText =
  'Your answer is not stored yet, so it does not count yet: the database of the gateway takes no writes, as when its disk is full.';

/** Message ids are unique in one place only. */
function keyOf({ place, id }: Incoming): string {
  const { platform, workspace = null, chat, thread = null } = place;
  return JSON.stringify([platform, workspace, chat, thread, id]);
}

function pairingText(code: string): string {
  return `You are not paired with me yet. My operator can let you in with \`${hermeticForStrangers} pairing approve ${code}\`. The code expires in 1 h.`;
}
