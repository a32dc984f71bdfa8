import type { App } from './app.ts';
import type { Audience } from './config/sandbox-settings.ts';
import type { Backend } from './core/sandbox.ts';
import type { ProofEntry } from './core/store.ts';

/** Where sessions of one kind run, found out by trying. */
export interface Posture {
  audience: Audience;
  configured: string;
  /** undefined when nothing that is configured works. */
  backend: Backend | undefined;
  image: string | undefined;
  network: string;
  idleSeconds: number;
  unusable: { backend: string; reason: string }[];
  /** The latest proof of a sandbox with these settings. */
  proof: ProofEntry | undefined;
}

export async function postureOf(app: App, audience: Audience): Promise<Posture> {
  const settings = app.settings(audience);
  const unusable: Posture['unusable'] = [];
  let backend: Backend | undefined;
  for (const candidate of app.candidates(settings.backend)) {
    const check = await candidate.check();
    if (check.usable) {
      backend = candidate;
      break;
    }
    unusable.push({ backend: candidate.kind, reason: check.reason });
  }
  const open = backend?.traits.honours['network-open'] === true;
  return {
    audience,
    configured: settings.backend,
    backend,
    image: backend && settings.imageFor(backend.kind),
    network: app.loaded.config.terminal.network ?? (open ? 'open' : 'none'),
    idleSeconds: settings.idleSeconds,
    unusable,
    proof: backend && (await app.latestProof(backend, audience)),
  };
}

/**
 * What to shout when people in chats would get the host. Names the choices that work on this very machine. undefined when they are contained,
 * or when nothing works and so nothing runs.
 */
export async function unsafeWarning(app: App, { audience, backend }: Posture): Promise<string | undefined> {
  if (audience !== 'messaging' || backend === undefined || backend.traits.isolation !== 'none') return undefined;
  const choices: string[] = [];
  for (const other of app.backends.values()) {
    if (other.traits.isolation !== 'none' && (await other.check()).usable) choices.push(other.kind);
  }
  const remedy = choices.map((kind) => `  hermetic config set gateway.terminal_backend ${kind}`);
  return [
    `WARNING: messaging sessions run on ${backend.kind}, WITHOUT A SANDBOX.`,
    'Whoever can send a message, and whatever the agent reads, can run commands on this machine as this user.',
    choices.length > 0
      ? 'These backends work here and contain them:'
      : 'No backend that could contain them works here: hermetic doctor says why.',
    ...remedy,
    'Read docs/sandboxes/local.md before you go on.',
  ].join('\n');
}
