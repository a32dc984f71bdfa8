import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { BackgroundEvent } from '../core/background.ts';

/** So many events are kept while no client is connected. */
const maxKept = 50;
/** Matches that are reported in a minute, at most. */
const maxEvents = 20;
const withinMs = 60_000;

interface Notification {
  method: string;
  params: Record<string, unknown>;
}

/**
 * Tells clients what happens to background processes: at once over a connection that lasts; where every request has one of its own, with the next
 * call of a tool.
 */
export class BackgroundFeed {
  readonly #servers = new Set<McpServer>();
  readonly #kept: BackgroundEvent[] = [];
  readonly #matchedAt: number[] = [];

  /** A connection that lasts until it is closed. */
  attach(server: McpServer): void {
    this.#servers.add(server);
  }

  hear(event: BackgroundEvent): void {
    if (event.kind === 'started' || (event.kind === 'ended' && event.isKnown)) return;
    if (event.kind === 'matched' && !this.#mayTell()) return;
    const connected = [...this.#servers].filter((server) => server.isConnected());
    if (connected.length === 0) {
      this.#kept.push(event);
      this.#kept.splice(0, this.#kept.length - maxKept);
      return;
    }
    // A client that does not know one of them is told by the other.
    for (const server of connected) {
      for (const notification of notificationsOf(event)) server.server.notification(notification).catch(() => undefined);
    }
  }

  /** With a call of a tool: what was kept. */
  async tell({ mcpReq }: ServerContext): Promise<void> {
    for (const event of this.#kept.splice(0)) {
      for (const notification of notificationsOf(event)) await mcpReq.notify(notification).catch(() => undefined);
    }
  }

  #mayTell(): boolean {
    const now = Date.now();
    while (this.#matchedAt[0] !== undefined && now - this.#matchedAt[0] > withinMs) this.#matchedAt.shift();
    if (this.#matchedAt.length >= maxEvents) return false;
    this.#matchedAt.push(now);
    return true;
  }
}

function notificationsOf(event: BackgroundEvent): Notification[] {
  const data = paramsOf(event);
  return [
    { method: 'notifications/hermetic/process', params: data },
    { method: 'notifications/message', params: { level: 'info', logger: 'hermetic/process', data } },
  ];
}

function paramsOf(event: BackgroundEvent): Record<string, unknown> {
  const { process, command } = event;
  if (event.kind === 'matched') return { event: 'matched', process, command, pattern: event.pattern, line: event.line };
  if (event.kind === 'started') return { event: 'started', process, command };
  return { event: 'ended', process, command, outcome: event.outcome, exit_code: event.exitCode ?? null, output: event.output };
}
