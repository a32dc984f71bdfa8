import { gatewaySocket } from '../app/gateway-process.ts';
import { type GatewayStatus, linkText } from '../app/status/gateway-status.ts';
import type { SandboxStatusFacts } from '../app/status/sandbox-status.ts';
import type { SessionStatus } from '../app/status/session-status.ts';
import type { Talkers } from '../app/status/who-may-talk.ts';
import { HermeticError } from '../core/errors.ts';
import { askInstance } from '../lib/instance.ts';
import { hermetic } from '../lib/own-command.ts';

/** The status that a gateway gives other processes. */
export interface RunningGateway {
  state: 'starting' | 'running';
  url: string | null;
  model: string | null;
  turnsRunning: number | null;
  access: Talkers[];
  questionsOpen: number | null;
  /** Of the configuration files: what is wrong, and which changes wait for a restart. */
  configuration: { problem: string | null; restart: readonly string[] };
  channels: { kind: string; state: string; reason: string | null }[];
}

/** Its answer, which may be short while it starts; undefined when no gateway runs for this home. */
export async function askGateway(home: string): Promise<Partial<GatewayStatus> | undefined> {
  return ((await askInstance(gatewaySocket(home))) as Partial<GatewayStatus> | null | undefined) ?? undefined;
}

/** Where messaging sessions run, and the warning when that is the host. */
export type MessagingFacts = SandboxStatusFacts & { warning: string | null };

export interface GatewayAnswer {
  status: RunningGateway;
  /** undefined while it starts. */
  messaging: MessagingFacts | undefined;
  /** undefined while it starts. */
  sessions: SessionStatus[] | undefined;
}

/** undefined when none runs for this home. */
export async function runningGateway(home: string): Promise<GatewayAnswer | undefined> {
  const said = await askGateway(home);
  if (!said) return undefined;
  const { channels, messaging, warning = null } = said;
  const status: RunningGateway = {
    state: channels ? 'running' : 'starting',
    url: said.url ?? null,
    model: said.model ?? null,
    turnsRunning: said.turnsRunning ?? null,
    access: said.access ?? [],
    questionsOpen: said.approvals?.waiting ?? null,
    configuration: { problem: said.configuration?.problem ?? null, restart: said.configuration?.restart ?? [] },
    channels: (channels ?? []).map(({ kind, state, reason, link }) => ({
      kind,
      state,
      reason: [reason, link && linkText(link, 'the page’s')].filter(Boolean).join(' ') || null,
    })),
  };
  return { status, messaging: messaging && { ...messaging, warning }, sessions: said.sessions };
}

/** Says how to reach the one that runs. */
export async function alreadyRunning(home: string): Promise<HermeticError> {
  const said = await askGateway(home);
  const isChat = said?.isPublic === false;
  const way = said?.url
    ? `Its page is ${said.url} (the link it printed at its start lets a browser in); ${hermetic} status shows more.`
    : `${hermetic} status shows it.`;
  return new HermeticError(
    'gateway/running',
    isChat ? 'A terminal chat is already open for this home.' : 'A gateway is already running for this home.',
    { hint: isChat ? 'Leave it with Ctrl-D, or set HERMETIC_HOME to another home.' : way },
  );
}
