import type { Channel } from './core/channel.ts';
import type { GatewayProgram } from './gateway-program.ts';
import type { StatusView } from './http/parts.ts';
import { type Posture, postureLines, postureOf, unsafeWarning } from './posture.ts';

/** What is true of the running gateway at this moment. JSON, for whoever asks from another process. */
export interface GatewayStatus {
  /** Whether it is there for others than whoever sits at its terminal. */
  isPublic: boolean;
  backend: string | undefined;
  image: string | undefined;
  isContained: boolean;
  proof: { held: boolean; at: string } | undefined;
  /** As they are logged at the start. */
  posture: string[];
  warning: string | undefined;
  approvals: { mode: string; waiting: number };
  model: string | undefined;
  turnsRunning: number;
  channels: { kind: string; state: string; reason: string | undefined }[];
  url: string | undefined;
}

export async function gatewayStatus({ app, gateway, channels, isPublic, url, modelName }: GatewayProgram): Promise<GatewayStatus> {
  const posture = await postureOf(app, 'messaging');
  const { approvals } = app.loaded.config;
  const questions = await (await app.approvals.questions()).open();
  return {
    isPublic,
    backend: posture.backend?.kind,
    image: posture.image,
    isContained: posture.backend !== undefined && posture.backend.traits.isolation !== 'none',
    proof: proofOf(posture),
    posture: postureLines(app, posture),
    warning: await unsafeWarning(app, posture),
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

const channelText = ({ kind, state, reason }: GatewayStatus['channels'][number]): string =>
  `${kind} ${state}${reason ? ` (${reason})` : ''}`;

/** For a chat: one fact a line. */
export function statusLines({ posture, warning, approvals, model, turnsRunning, channels }: GatewayStatus): string[] {
  return [
    ...(warning ? [warning.split('\n')[0] ?? ''] : []),
    ...posture,
    `approvals ${approvals.mode}, ${approvals.waiting} questions open in all`,
    `model ${model ?? 'none: run hermetic setup'}`,
    `${turnsRunning} turns running; channels: ${channels.map(channelText).join(', ')}`,
  ];
}

/** For the page. */
export function statusView({
  backend,
  image,
  isContained,
  proof,
  posture,
  approvals,
  model,
  turnsRunning,
  channels,
}: GatewayStatus): StatusView {
  const contained = isContained ? 'good' : 'bad';
  return {
    summary: { label: 'Sandbox', value: backend ? (isContained ? backend : `${backend}: NOT CONTAINED`) : 'none works', tone: contained },
    sections: [
      {
        title: 'Sandbox',
        lines: [
          { label: 'Backend', value: backend ?? 'none', tone: contained },
          { label: 'Image', value: image ?? '-' },
          {
            label: 'Proof',
            value: proof ? `${proof.held ? 'held' : 'BROKE'} ${proof.at}` : 'not tried yet',
            tone: proof ? (proof.held ? 'good' : 'bad') : 'warning',
          },
          ...posture.slice(1).map((value) => ({ label: '', value })),
        ],
      },
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
