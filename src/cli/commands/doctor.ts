import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import { findNetworkFacts, type NetworkFacts, networkFactsText } from '../../app/status/network-status.ts';
import { usableBackend } from '../../app/status/sandbox-status.ts';
import { type SessionStatus, sessionStatuses, sessionText, yoloTexts } from '../../app/status/session-status.ts';
import { containerRemedy } from '../../backends/container-remedy.ts';
import { mountedEngineSockets } from '../../backends/engine-sockets.ts';
import { findHome, stateFile } from '../../config/home.ts';
import { checkConfig } from '../../config/load.ts';
import type { Audience } from '../../config/sandbox-settings.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Proof } from '../../core/proof.ts';
import type { Backend, Check } from '../../core/sandbox.ts';
import { sessionPartsText } from '../../core/session.ts';
import type { SetAside } from '../../core/set-aside.ts';
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { proofJson, proofText } from '../../proof/index.ts';
import { proveBackend } from '../../sandboxes/prove-backend.ts';
import { networkFor } from '../../sandboxes/spec.ts';
import { type CliIo, commandOn } from '../io.ts';
import { runningGateway } from '../running-gateway.ts';
import { appOf } from '../session-options.ts';

const explanation = `
Starts a throw-away sandbox on every backend and runs true in it. Exits with 0 when the configured backend can be used, with 3 when it
cannot, or cannot restrict the network as configured, with 2 when the configuration is wrong, and with 1 when a backend that should contain does not, or could not be tried.`;

export function doctorCommand(io: CliIo): Command {
  return commandOn(io, 'doctor')
    .description('check what works on this machine, and how to fix the rest')
    .option('--json', 'print an object')
    .option('--prove', 'also try to break out of a sandbox of every working backend, and show what held')
    .addHelpText('after', explanation)
    .action(async ({ json, prove }: { json?: boolean; prove?: boolean }) => {
      const problems = checkConfig({ environment: io.environment });
      if (problems.length > 0) {
        const { sessions = [] } = (await runningGateway(findHome({ environment: io.environment }).directory)) ?? {};
        const lines = ['configuration: wrong', ...problems.map(({ message }) => `  ${message}`), ...yoloLines(sessions, new Date())];
        io.stdout.write(json ? `${JSON.stringify({ configuration: problems, sessions }, undefined, 2)}\n` : `${lines.join('\n')}\n`);
        io.setExitCode(2);
        return;
      }
      const app = appOf(io);
      const checks = new Map<string, Check>();
      for (const [kind, backend] of app.backends) {
        if (!json) io.stderr.write(`hermetic: trying ${kind} …\n`);
        checks.set(kind, await backend.check());
      }
      const proofs: Proofs = new Map();
      const chatProofs: Proofs = new Map();
      for (const [kind, backend] of prove ? app.backends : []) {
        if (!checks.get(kind)?.usable) continue;
        if (!json) io.stderr.write(`hermetic: trying to break out of ${kind} …\n`);
        proofs.set(kind, await proveBackend(app.deps, backend, 'cli').catch(asFailure));
        if (!(await hasOtherNetworkInChats(app, backend))) continue;
        if (!json) io.stderr.write(`hermetic: trying to break out of ${kind} with the network of chat sessions …\n`);
        chatProofs.set(kind, await proveBackend(app.deps, backend, 'messaging').catch(asFailure));
      }
      const now = await approvalsNow(app);
      const usableFor = async (audience: Audience): Promise<Backend | undefined> =>
        (await usableBackend(app, audience, async (backend) => checks.get(backend.kind) ?? (await backend.check()))).backend;
      const usable = await usableFor('cli');
      const networks = {
        cli: await findNetworkFacts(app.loaded, 'cli', usable),
        messaging: await findNetworkFacts(app.loaded, 'messaging', await usableFor('messaging')),
      };
      const engineSockets = await mountedEngineSockets();
      await app.close();
      // Security: a backend that could not be tried counts as not contained.
      const isBroken = [...proofs, ...chatProofs].some(
        ([kind, proof]) => !held(proof) && app.backends.get(kind)?.traits.isolation !== 'none',
      );
      if (json) {
        const proven = prove ? { proofs: proofFacts(proofs), chatProofs: proofFacts(chatProofs) } : {};
        io.stdout.write(
          `${JSON.stringify({ ...facts(app, checks, usable?.kind), engineSockets, networks, ...now, ...proven }, undefined, 2)}\n`,
        );
      } else {
        io.stdout.write(
          prose(app, { checks, usable: usable?.kind, networks, engineSockets }, now) +
            [...proofs].map(([kind, proof]) => proofProse(kind, proof)).join('') +
            [...chatProofs].map(([kind, proof]) => proofProse(`${kind}, with the network of chat sessions`, proof)).join(''),
        );
      }
      const opens = usable !== undefined && networks.cli.network !== null;
      io.setExitCode(opens ? (isBroken ? 1 : 0) : 3);
    });
}

/** By backend. */
type Proofs = Map<string, Proof | HermeticError>;

function asFailure(error: unknown): HermeticError {
  if (error instanceof HermeticError) return error;
  return new HermeticError('sandbox/open-failed', errorText(error), { cause: error });
}

function held(proof: Proof | HermeticError): boolean {
  return !(proof instanceof HermeticError) && proof.held;
}

function proofFacts(proofs: Proofs) {
  return Object.fromEntries(
    [...proofs].map(([kind, proof]) => {
      if (!(proof instanceof HermeticError)) return [kind, proofJson(proof)];
      const { code, message, hint } = proof;
      return [kind, { held: null, code, reason: message, fix: hint ?? null }];
    }),
  );
}

/** The proof of the command line says nothing about another network. */
async function hasOtherNetworkInChats({ loaded: { config } }: App, backend: Backend): Promise<boolean> {
  const [cli, messaging] = await Promise.allSettled([networkFor(config, 'cli', backend), networkFor(config, 'messaging', backend)]);
  return messaging.status === 'fulfilled' && messaging.value !== (cli.status === 'fulfilled' ? cli.value : undefined);
}

function proofProse(kind: string, proof: Proof | HermeticError): string {
  if (!(proof instanceof HermeticError)) return `\n${kind}:\n${proofText(proof)}\n`;
  return `\n${kind}: could not be tried: ${proof.message}\n${proof.hint ? `  fix: ${proof.hint}\n` : ''}`;
}

function facts(app: App, checks: ReadonlyMap<string, Check>, usable: string | undefined) {
  return {
    configuration: [],
    home: app.loaded.home,
    backend: { configured: app.loaded.config.terminal.backend, used: usable ?? null },
    backends: Object.fromEntries(checks),
  };
}

interface ApprovalsNow {
  approvals: { mode: string; pending: number };
  sessions: SessionStatus[];
  /** Messages that failed too often and are not retried. */
  setAside: Omit<SetAside, 'content'>[];
  /** Why the state database cannot be read. */
  stateProblem: string | null;
  /** Directories of sessions that are not where the configuration says, in sentences. */
  missingDirectories: readonly string[];
}

/** Sessions from the gateway that runs, else from what the state database knows, when there is one. */
async function approvalsNow(app: App): Promise<ApprovalsNow> {
  const { home, config } = app.loaded;
  const { mode } = config.approvals;
  const gateway = await runningGateway(home);
  const answer = (sessions: SessionStatus[], found: Partial<ApprovalsNow> = {}): ApprovalsNow => {
    const pending = sessions.reduce((sum, session) => sum + session.pending, 0);
    return { approvals: { mode, pending }, sessions, setAside: [], stateProblem: null, missingDirectories: [], ...found };
  };
  if (!existsSync(stateFile(home))) return answer(gateway?.sessions ?? []);
  try {
    const setAside = (await (await app.store()).setAside.list()).map(({ content: _, ...rest }) => rest);
    const missing = await app.sandboxes.missingDirectories();
    return answer(gateway?.sessions ?? (await sessionStatuses(app, undefined)), { setAside, missingDirectories: missing });
  } catch (error) {
    return answer(gateway?.sessions ?? [], { stateProblem: errorText(error) });
  }
}

function setAsideLines(setAside: ApprovalsNow['setAside']): string[] {
  if (setAside.length === 0) return [];
  const lines = setAside.map(({ source, id, session, reason, tries, at }) => {
    const where = session.length > 0 ? ` of ${sessionPartsText(session)}` : '';
    return `  ${printable(`${source} ${id}${where}, ${at.toISOString()}, after ${tries} tries: ${reason}`)}`;
  });
  return [
    `set aside: ${setAside.length === 1 ? '1 message that failed too often and is' : `${setAside.length} messages that failed too often and are`} not retried`,
    ...lines,
  ];
}

function yoloLines(sessions: readonly SessionStatus[], now: Date): string[] {
  return yoloTexts(sessions, now).map((text) => `YOLO, approvals are off: ${text}`);
}

interface Found {
  checks: ReadonlyMap<string, Check>;
  usable: string | undefined;
  networks: Readonly<Record<Audience, NetworkFacts>>;
  /** Of engines outside the container in which this is. */
  engineSockets: readonly string[];
}

function prose(app: App, { checks, usable, networks, engineSockets }: Found, now: ApprovalsNow): string {
  const configured = app.loaded.config.terminal.backend;
  const at = new Date();
  const lines = [
    ...yoloLines(now.sessions, at),
    'configuration: fine',
    ...app.loaded.warnings.map(({ message }) => `  warning: ${message}`),
  ];
  for (const path of engineSockets) {
    const remedy = containerRemedy() ?? '';
    lines.push(
      `WARNING: ${path}, the socket of a container engine, is mounted into this container: whatever reaches it is root on the machine outside.`,
      `  fix: Take it out. ${remedy} An engine of its own on another machine works too (terminal.docker_host).`,
    );
  }
  for (const [kind, check] of checks) {
    if (!check.usable) {
      lines.push(`${kind}: not usable`, `  why: ${check.reason}`, `  fix: ${check.fix}`);
      continue;
    }
    lines.push(`${kind}: usable, ${check.summary}`, ...check.notes.map((note) => `  note: ${note}`));
    for (const [name, { enforced, how }] of Object.entries(check.limits))
      lines.push(`  ${name}: ${enforced ? 'enforced' : 'not enforced'}, ${how}`);
  }
  lines.push(usable ? `terminal.backend ${configured}: uses ${usable}` : `terminal.backend ${configured}: no backend works`);
  if (networks.messaging.backend !== null) lines.push(`network of chat sessions: ${networkFactsText(networks.messaging)}`);
  if (networks.cli.backend !== null) lines.push(`network of the command line: ${networkFactsText(networks.cli)}`);
  if (now.stateProblem !== null) lines.push(`state database: ${now.stateProblem}`);
  lines.push(...now.missingDirectories.map((text) => `sandboxes: WARNING: ${text}`));
  lines.push(...setAsideLines(now.setAside));
  lines.push(`approvals: ${now.approvals.mode}, ${now.approvals.pending} pending`);
  for (const session of now.sessions) lines.push(`session ${session.title}: ${sessionText(session, at) || 'idle'}`);
  return `${lines.join('\n')}\n`;
}
