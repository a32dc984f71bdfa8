import type { Channel, Linking } from '../../core/channel.ts';
import type { HealthView, StatusLine, StatusView } from '../../http/parts.ts';
import { hermetic } from '../../lib/own-command.ts';
import type { GatewayProgram } from '../gateway.ts';
import { readiness } from './health.ts';
import { networkText } from './network-status.ts';
import {
  describeSandboxStatus,
  type SandboxStatus,
  type SandboxStatusFacts,
  type SandboxStatusText,
  sandboxObstacle,
  sandboxStatusFacts,
  sandboxStatusLines,
} from './sandbox-status.ts';
import { type SessionStatus, sessionStatuses, sessionText, yoloTexts } from './session-status.ts';
import { type Talkers, whoMayTalk } from './who-may-talk.ts';

/** The state of a channel. Security: `link` is for the owner alone: it goes to the page and to `hermetic status`, and never to a chat. */
interface ChannelStatus {
  kind: string;
  state: string;
  reason: string | undefined;
  /** What links an account, while the channel waits for that. */
  link?: Pick<Linking, 'qr' | 'code'> | undefined;
}

/** The status of the running gateway. JSON, for other processes. */
export interface GatewayStatus {
  /** Whether it serves the page and platforms, and not only the terminal it runs at. */
  isPublic: boolean;
  backend: string | undefined;
  image: string | undefined;
  isContained: boolean;
  /** In words. */
  network: string;
  /** Why there is no network although one is configured, with the command to run. */
  networkObstacle: string | undefined;
  /** Why it is open although nothing asks for that, and what to do. */
  networkWarning: string | undefined;
  /** Who shares a sandbox. */
  scope: 'session' | 'user' | 'chat' | 'shared';
  proof: { held: boolean; at: string } | undefined;
  words: SandboxStatusText;
  /** For `hermetic status`. */
  messaging: SandboxStatusFacts;
  /** As they are logged at the start. */
  sandboxLines: string[];
  warning: string | undefined;
  /** Problems of the configuration files, and changes that wait for a restart. */
  configuration: { problem: string | undefined; restart: readonly string[] };
  approvals: { mode: string; waiting: number };
  /** Those in which something is going on. */
  sessions: SessionStatus[];
  access: Talkers[];
  model: string | undefined;
  turnsRunning: number;
  /** Why nothing can be run, and what to do. */
  obstacle: string | undefined;
  /** Whether messages are answered and commands run. */
  readiness: HealthView;
  channels: ChannelStatus[];
  url: string | undefined;
}

export async function gatewayStatus(program: GatewayProgram): Promise<GatewayStatus> {
  const { app, config, gateway, channels, isPublic, url, modelName } = program;
  await config.fresh();
  const { status, warning } = await app.sandboxStatus.latest();
  const { approvals, gateway: settings } = app.loaded.config;
  const questions = await (await app.approvals.questions()).open();
  return {
    isPublic,
    backend: status.backend?.kind,
    image: status.image,
    isContained: status.backend !== undefined && status.backend.traits.isolation !== 'none',
    network: networkText(status),
    networkObstacle: status.networkObstacle,
    networkWarning: status.networkWarning,
    scope: settings.sandbox_scope,
    proof: proofOf(status),
    words: describeSandboxStatus(app, status),
    messaging: sandboxStatusFacts(status),
    sandboxLines: sandboxStatusLines(app, status),
    warning,
    configuration: { problem: config.problem, restart: config.restartNotes },
    approvals: { mode: approvals.mode, waiting: questions.length },
    sessions: await sessionStatuses(app, gateway),
    access: await whoMayTalk(app.loaded.config, channels.values(), (await app.store()).pairing),
    model: modelName,
    turnsRunning: gateway.busy,
    obstacle: sandboxObstacle(status),
    readiness: await readiness(program),
    channels: [...channels.values()].map(channelStatus),
    url,
  };
}

/** For other processes: where all of it cannot be found out, as with a broken store, at least why. */
export async function answeredStatus(program: GatewayProgram): Promise<Partial<GatewayStatus>> {
  try {
    return await gatewayStatus(program);
  } catch {
    const { isPublic, url, channels } = program;
    return { isPublic, url, channels: [...channels.values()].map(channelStatus), readiness: await readiness(program) };
  }
}

function proofOf({ proof }: SandboxStatus): GatewayStatus['proof'] {
  return proof && { held: proof.held, at: proof.provenAt.toISOString() };
}

function channelStatus({ kind, state }: Channel): ChannelStatus {
  if (state.kind === 'linking') return { kind, state: state.kind, reason: state.reason, link: { qr: state.qr, code: state.code } };
  return { kind, state: state.kind, reason: state.kind === 'down' ? state.reason : undefined };
}

const channelText = ({ state, reason }: ChannelStatus): string =>
  `${state === 'linking' ? 'waiting to be linked' : state}${reason ? ` (${reason})` : ''}`;

/** For a chat: one fact a line. */
export function statusLines({ sandboxLines, warning, approvals, model, turnsRunning, channels }: GatewayStatus): string[] {
  return [
    ...(warning ? [warning.split('\n')[0] ?? ''] : []),
    ...sandboxLines,
    `Approvals: ${approvals.mode}, ${approvals.waiting} pending in all sessions`,
    `Model: ${model ?? `none; ${hermetic} setup adds one`}`,
    `Turns running: ${turnsRunning}; channels: ${channels.map((channel) => `${channel.kind} ${channelText(channel)}`).join(', ')}`,
  ];
}

const sharing: Readonly<Record<GatewayStatus['scope'], string>> = {
  session: 'Everything runs in this session’s own sandbox.',
  chat: 'Everything runs in this session’s own sandbox.',
  user: 'Everything runs in one sandbox shared by your sessions.',
  shared: 'Everything runs in one sandbox shared by all sessions.',
};

/** For the page. */
export function statusView(status: GatewayStatus, now = new Date()): StatusView {
  const { backend, isContained, obstacle, scope, configuration, approvals, model, turnsRunning, channels, sessions, access } = status;
  const configurationLines = [
    ...(configuration.problem ? [{ label: 'Problem', value: configuration.problem, tone: 'bad' as const }] : []),
    ...configuration.restart.map((value) => ({ label: 'Restart', value, tone: 'warning' as const })),
  ];
  const yolo = yoloTexts(sessions, now);
  const where = isContained ? sharing[scope] : 'Commands run on the machine of the gateway itself, without a sandbox.';
  return {
    summary: {
      label: 'Sandbox',
      value: backend ? (isContained ? backend : `${backend}: NOT CONTAINED`) : 'Nothing can be run',
      tone: isContained ? 'good' : 'bad',
    },
    where: obstacle === undefined ? where : 'Nothing can be run.',
    obstacle,
    sections: [
      ...section('Configuration', configurationLines),
      ...section(
        'Yolo: approvals are off',
        yolo.map((value) => ({ label: '', value, tone: 'bad' })),
      ),
      ...section('Sessions', sessionLinesOf(sessions, now)),
      { title: 'Sandbox', lines: sandboxLines(status) },
      {
        title: 'Approvals and model',
        lines: [
          {
            label: 'Approvals',
            value: `${approvals.mode}, ${approvals.waiting} pending`,
            tone: approvals.mode === 'off' ? 'warning' : undefined,
          },
          { label: 'Model', value: model ?? `none: run ${hermetic} setup`, tone: model ? undefined : 'warning' },
          { label: 'Turns running', value: String(turnsRunning) },
        ],
      },
      {
        title: 'Channels',
        lines: channels.flatMap(channelLines),
      },
      ...section(
        'Who may talk',
        access.map(({ channel, text, isOpen }) => ({ label: channel, value: text, tone: isOpen ? 'bad' : undefined })),
      ),
    ],
  };
}

function channelLines(channel: ChannelStatus): StatusLine[] {
  const { kind, state, link } = channel;
  const line: StatusLine = { label: kind, value: channelText(channel), tone: state === 'up' ? 'good' : 'warning' };
  if (!link) return [line];
  return [line, { label: '', value: linkText(link, 'this'), qr: link.qr }];
}

/** How the owner links an account. `which`: the QR code, as it is called where this is read. */
export function linkText({ qr, code }: Pick<Linking, 'qr' | 'code'>, which: string): string {
  if (code !== undefined) return `Enter ${code} in the app on your phone: Linked devices, Link with phone number.`;
  return qr === undefined
    ? 'The code comes in a moment.'
    : `Scan ${which} QR code with the app on your phone: Linked devices, Link a device.`;
}

/** Left out when there is nothing in it. */
function section(title: string, lines: readonly StatusLine[]): StatusView['sections'][number][] {
  return lines.length > 0 ? [{ title, lines }] : [];
}

function sessionLinesOf(sessions: readonly SessionStatus[], now: Date): StatusLine[] {
  return sessions.map((session) => ({ label: session.title, value: sessionText(session, now) || 'idle' }));
}

function sandboxLines(status: GatewayStatus): StatusLine[] {
  const { backend, image, isContained, network, networkObstacle, networkWarning, proof, words } = status;
  const line = (label: string, value: string | undefined, tone?: StatusLine['tone']): StatusLine[] =>
    value === undefined ? [] : [{ label, value, tone }];
  return [
    ...line('Backend', backend ?? 'none', isContained ? 'good' : 'bad'),
    ...words.skipped.flatMap((reason) => line('', reason)),
    ...line('Image', image),
    ...line('Network', networkObstacle ?? networkWarning ?? network, networkObstacle || networkWarning ? 'warning' : undefined),
    ...line('Proof', words.proof, proof ? (proof.held ? 'good' : 'bad') : 'warning'),
    ...line('Limits', words.limits),
    ...line('Sandboxes', words.sandboxes),
  ];
}
