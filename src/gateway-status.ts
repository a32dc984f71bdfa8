import type { Channel } from './core/channel.ts';
import type { GatewayProgram } from './gateway-program.ts';
import type { StatusLine, StatusView } from './http/parts.ts';
import { type Posture, type PostureFacts, type PostureWords, postureFacts, postureLines, postureWords } from './posture.ts';

/** What is true of the running gateway at this moment. JSON, for whoever asks from another process. */
export interface GatewayStatus {
  /** Whether it is there for others than whoever sits at its terminal. */
  isPublic: boolean;
  backend: string | undefined;
  image: string | undefined;
  isContained: boolean;
  network: string;
  /** Who shares a sandbox. */
  scope: 'session' | 'user' | 'chat' | 'shared';
  proof: { held: boolean; at: string } | undefined;
  words: PostureWords;
  /** For `hermetic status`. */
  messaging: PostureFacts;
  /** As they are logged at the start. */
  posture: string[];
  warning: string | undefined;
  /** What is wrong with the configuration files, and which changes wait for a restart. */
  configuration: { problem: string | undefined; restart: readonly string[] };
  approvals: { mode: string; waiting: number };
  model: string | undefined;
  turnsRunning: number;
  channels: { kind: string; state: string; reason: string | undefined }[];
  url: string | undefined;
}

export async function gatewayStatus({ app, config, gateway, channels, isPublic, url, modelName }: GatewayProgram): Promise<GatewayStatus> {
  await config.fresh();
  const { posture, warning } = await app.sandboxStatus.latest();
  const { approvals, gateway: settings } = app.loaded.config;
  const questions = await (await app.approvals.questions()).open();
  return {
    isPublic,
    backend: posture.backend?.kind,
    image: posture.image,
    isContained: posture.backend !== undefined && posture.backend.traits.isolation !== 'none',
    network: posture.network,
    scope: settings.sandbox_scope,
    proof: proofOf(posture),
    words: postureWords(app, posture),
    messaging: postureFacts(posture),
    posture: postureLines(app, posture),
    warning,
    configuration: { problem: config.problem, restart: config.restartNotes },
    approvals: { mode: approvals.mode, waiting: questions.length },
    model: modelName,
    turnsRunning: gateway.busy,
    channels: [...channels.values()].map(channelStatus),
    url,
  };
}

function proofOf({ proof }: Posture): GatewayStatus['proof'] {
  return proof && { held: proof.held, at: proof.provenAt.toISOString() };
}

function channelStatus({ kind, state }: Channel): GatewayStatus['channels'][number] {
  return { kind, state: state.kind, reason: state.kind === 'down' ? state.reason : undefined };
}

const channelText = ({ state, reason }: GatewayStatus['channels'][number]): string => `${state}${reason ? ` (${reason})` : ''}`;

/** For a chat: one fact a line. */
export function statusLines({ posture, warning, approvals, model, turnsRunning, channels }: GatewayStatus): string[] {
  return [
    ...(warning ? [warning.split('\n')[0] ?? ''] : []),
    ...posture,
    `approvals ${approvals.mode}, ${approvals.waiting} questions open in all`,
    `model ${model ?? 'none: run hermetic setup'}`,
    `${turnsRunning} turns running; channels: ${channels.map((channel) => `${channel.kind} ${channelText(channel)}`).join(', ')}`,
  ];
}

const sharing: Readonly<Record<GatewayStatus['scope'], string>> = {
  session: 'Everything runs in a sandbox of this session’s own.',
  chat: 'Everything runs in a sandbox of this session’s own.',
  user: 'Everything runs in a sandbox that your sessions share.',
  shared: 'Everything runs in a sandbox that all sessions share.',
};

/** For the page. */
export function statusView(status: GatewayStatus): StatusView {
  const { backend, isContained, scope, configuration, approvals, model, turnsRunning, channels } = status;
  const configurationLines = [
    ...(configuration.problem ? [{ label: 'Problem', value: configuration.problem, tone: 'bad' as const }] : []),
    ...configuration.restart.map((value) => ({ label: 'Restart', value, tone: 'warning' as const })),
  ];
  const where = isContained ? sharing[scope] : 'Commands run on the machine of the gateway itself, without a sandbox.';
  return {
    summary: {
      label: 'Sandbox',
      value: backend ? (isContained ? backend : `${backend}: NOT CONTAINED`) : 'none works',
      tone: isContained ? 'good' : 'bad',
    },
    where: backend === undefined ? 'Nothing can be run: no sandbox works here.' : where,
    sections: [
      ...(configurationLines.length > 0 ? [{ title: 'Configuration', lines: configurationLines }] : []),
      { title: 'Sandbox', lines: sandboxLines(status) },
      {
        title: 'Approvals and model',
        lines: [
          {
            label: 'Approvals',
            value: `${approvals.mode}, ${approvals.waiting} open`,
            tone: approvals.mode === 'off' ? 'warning' : undefined,
          },
          { label: 'Model', value: model ?? 'none: run hermetic setup', tone: model ? undefined : 'warning' },
          { label: 'Turns running', value: String(turnsRunning) },
        ],
      },
      {
        title: 'Channels',
        lines: channels.map((channel) => ({
          label: channel.kind,
          value: channelText(channel),
          tone: channel.state === 'up' ? 'good' : 'warning',
        })),
      },
    ],
  };
}

function sandboxLines({ backend, image, isContained, network, proof, words }: GatewayStatus): StatusLine[] {
  const line = (label: string, value: string | undefined, tone?: StatusLine['tone']): StatusLine[] =>
    value === undefined ? [] : [{ label, value, tone }];
  return [
    ...line('Backend', backend ?? 'none', isContained ? 'good' : 'bad'),
    ...words.skipped.flatMap((reason) => line('', reason)),
    ...line('Image', image),
    ...line('Network', network),
    ...line('Proof', words.proof, proof ? (proof.held ? 'good' : 'bad') : 'warning'),
    ...line('Limits', words.limits),
    ...line('Sandboxes', words.sandboxes),
  ];
}
