import { hostGrants } from '../../approval/host-grants.ts';
import { hostsIn } from '../../gateway/questions/host-answers.ts';
import type { GatewayProgram } from '../gateway.ts';
import type { SandboxStatus } from './sandbox-status.ts';

interface Metric {
  name: string;
  /** Default: a gauge. */
  type?: 'counter' | undefined;
  help: string;
  values: readonly { labels?: Readonly<Record<string, string>>; value: number }[];
}

/** Figures about the running gateway, in the text format of Prometheus. */
export async function gatewayMetrics({ app, gateway, channels }: GatewayProgram): Promise<string> {
  const { inbox, outbox, grants } = await app.store();
  const { status } = await app.sandboxStatus.known();
  const [waiting, places, questions, hosts] = await Promise.all([
    inbox.list('waiting'),
    outbox.places(),
    (await app.approvals.questions()).open(),
    hostGrants(grants, new Date()),
  ]);
  const one = (value: number) => [{ value }];
  const metrics: Metric[] = [
    {
      name: 'hermetic_channel_up',
      help: 'Whether a channel is connected.',
      values: [...channels.values()].map(({ kind, state }) => ({ labels: { channel: kind }, value: Number(state.kind === 'up') })),
    },
    { name: 'hermetic_turns_running', help: 'Turns that run now.', values: one(gateway.busy) },
    { name: 'hermetic_conversations_held', help: 'Conversations that are in memory.', values: one(gateway.held) },
    { name: 'hermetic_messages_waiting', help: 'Messages that wait for a turn.', values: one(waiting.length) },
    { name: 'hermetic_outbox_chats_pending', help: 'Chats with messages in the outbox.', values: one(places.length) },
    { name: 'hermetic_places_to_be_told', help: 'The same as hermetic_outbox_chats_pending, its former name.', values: one(places.length) },
    { name: 'hermetic_questions_open', help: 'Pending questions.', values: one(questions.length) },
    {
      name: 'hermetic_network_questions_open',
      help: 'Pending questions about hosts, which connections wait for.',
      values: one(questions.filter((question) => hostsIn(question).length > 0).length),
    },
    { name: 'hermetic_network_grants', help: 'Grants for hosts that are in force.', values: one(hosts.length) },
    {
      name: 'hermetic_network_connections_total',
      type: 'counter',
      help: 'Connections of restricted sandboxes that were blocked or failed, and those that were allowed and noted (network.log).',
      values: Object.entries(app.approvals.connectionCounts).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    { name: 'hermetic_sandboxes_open', help: 'Sandboxes of sessions that are open.', values: one(app.sandboxes.openCount) },
    { name: 'hermetic_spares_ready', help: 'Spare sandboxes, not claimed by a session yet.', values: one(app.sandboxes.spares) },
    { name: 'hermetic_backend_usable', help: 'Whether a backend worked when it was last tried.', values: backendsOf(status) },
    {
      name: 'hermetic_containment_held',
      help: 'Whether the last proof of containment held.',
      values: status.proof ? one(Number(status.proof.held)) : [],
    },
    { name: 'process_resident_memory_bytes', help: 'Memory of this process.', values: one(process.memoryUsage().rss) },
    { name: 'process_uptime_seconds', help: 'How long this process has run.', values: one(Math.round(process.uptime())) },
  ];
  return metrics.map(textOf).join('');
}

function backendsOf({ backend, unusable }: SandboxStatus): Metric['values'] {
  const inUse = backend ? [{ labels: { backend: backend.kind }, value: 1 }] : [];
  return [...inUse, ...unusable.map(({ backend: kind }) => ({ labels: { backend: kind }, value: 0 }))];
}

function textOf({ name, type, help, values }: Metric): string {
  const lines = values.map(({ labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
    return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type ?? 'gauge'}\n${lines.join('')}`;
}
