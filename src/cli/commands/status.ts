import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import { gatewayProcess } from '../../app/gateway-process.ts';
import { networkText } from '../../app/status/network-status.ts';
import { cpuText, findSandboxStatus, type SandboxStatusFacts, sandboxStatusFacts, unsafeWarning } from '../../app/status/sandbox-status.ts';
import { type SessionStatus, sessionStatuses, sessionText, yoloTexts } from '../../app/status/session-status.ts';
import { type Problem, throwProblems } from '../../config/explain.ts';
import { findHome } from '../../config/home.ts';
import { checkConfig } from '../../config/load.ts';
import { durationText } from '../../lib/duration.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { type CliIo, commandOn } from '../io.ts';
import { askGateway, type MessagingFacts, type RunningGateway, runningGateway } from '../running-gateway.ts';
import { appOf } from '../session-options.ts';
import { table } from '../table.ts';

export function statusCommand(io: CliIo): Command {
  return commandOn(io, 'status')
    .description('show the running gateway, the backends and limits in force, and the sandboxes')
    .option('--json', 'print an object')
    .option('--ready', 'say only whether the running gateway answers messages and runs commands, and exit with code 1 when it does not')
    .action(async ({ json, ready }: { json?: boolean; ready?: boolean }) => {
      if (ready) return await showReadiness(io, json);
      const problems = checkConfig({ environment: io.environment });
      if (problems.length > 0) return await withoutConfiguration(io, problems, json);
      const app = appOf(io);
      const gateway = await runningGateway(app.loaded.home);
      // All at once: of an engine that does not answer, all of them wait for the same word.
      const [cli, { warning, ...messaging }, sandboxes] = await Promise.all([
        findSandboxStatus(app, 'cli').then(sandboxStatusFacts),
        gateway?.messaging ?? messagingFacts(app),
        count(app),
      ]);
      const status = {
        home: app.loaded.home,
        backend: cli,
        messaging: { ...messaging, scope: app.loaded.config.gateway.sandbox_scope, warning },
        sandboxes: { ...sandboxes, missingDirectories: await app.sandboxes.missingDirectories() },
        limits: limits(app),
        timeoutSeconds: app.loaded.config.terminal.timeout,
        approvals: await approvals(app),
        sessions: gateway?.sessions ?? (await sessionStatuses(app, undefined)),
        gateway: gateway?.status ?? null,
      };
      if (json) io.stdout.write(`${JSON.stringify(status, undefined, 2)}\n`);
      else io.stdout.write(`${prose(status)}${warning === null ? '' : `\n${warning}\n`}`);
    });
}

/** From the running gateway alone, so that it takes little each time. */
async function showReadiness(io: CliIo, json = false): Promise<void> {
  const home = findHome({ environment: io.environment }).directory;
  const said = await askGateway(home);
  const silent = gatewayProcess(home) === undefined ? 'No gateway runs for this home.' : 'The gateway does not answer.';
  const { ok, reasons, down } = said?.readiness ?? { ok: false, reasons: [said ? 'The gateway is starting.' : silent], down: [] };
  const lines = [ok ? 'ready' : 'not ready', ...reasons, ...down].map((line) => `${printable(line)}\n`);
  io.stdout.write(json ? `${JSON.stringify({ ok, reasons, down }, undefined, 2)}\n` : lines.join(''));
  if (!ok) io.setExitCode(1);
}

/** The status of the running gateway, with the configuration it keeps. Throws the problems when none runs. */
async function withoutConfiguration(io: CliIo, problems: readonly Problem[], json = false): Promise<void> {
  const home = findHome({ environment: io.environment }).directory;
  const answer = await runningGateway(home);
  if (!answer) throwProblems(problems);
  const { status: gateway, messaging = null, sessions = [] } = answer ?? { status: null };
  const now = new Date();
  const messages = problems.map(({ message }) => message);
  const lines = [
    ...messages.map((message) => ['configuration', printable(message)]),
    ...yoloRows(sessions, now),
    ['home', home],
    ...gatewayRows(gateway),
    ...sessionRows(sessions, now),
    ...(messaging ? rows('messaging', messaging) : []),
  ];
  io.stdout.write(
    json ? `${JSON.stringify({ configuration: problems, home, messaging, sessions, gateway }, undefined, 2)}\n` : table(lines),
  );
  io.setExitCode(2);
}

/** Found out by trying: no gateway runs that would know. */
async function messagingFacts(app: App): Promise<MessagingFacts> {
  const status = await findSandboxStatus(app, 'messaging');
  return { ...sandboxStatusFacts(status), warning: (await unsafeWarning(app, status)) ?? null };
}

function limits(app: App) {
  const { container_cpu: cpus, container_memory: memoryMb, container_disk: diskMb, container_pids: pids } = app.loaded.config.terminal;
  return { cpus, memoryMb, diskMb, pids };
}

async function approvals(app: App) {
  const { mode, cron_mode: cronMode, timeout: timeoutSeconds } = app.loaded.config.approvals;
  const open = (await (await app.approvals.questions()).open()).length;
  const yolo = new Set((await (await app.store()).modes.list()).map(({ parts }) => JSON.stringify(parts))).size;
  return { mode, cronMode, timeoutSeconds, open, yolo };
}

async function count(app: App) {
  const listed = (await Promise.all([...app.backends.values()].map((backend) => backend.list()))).flat();
  return { total: listed.length, running: listed.filter(({ state }) => state === 'running').length };
}

interface Status {
  home: string;
  backend: SandboxStatusFacts;
  messaging: SandboxStatusFacts & { scope: string };
  sandboxes: { total: number; running: number; missingDirectories: readonly string[] };
  limits: ReturnType<typeof limits>;
  timeoutSeconds: number;
  approvals: Awaited<ReturnType<typeof approvals>>;
  sessions: SessionStatus[];
  gateway: RunningGateway | null;
}

function prose(status: Status): string {
  const { cpus, memoryMb, diskMb, pids } = status.limits;
  const answerTime = durationText(status.approvals.timeoutSeconds * 1000);
  const now = new Date();
  return table([
    ...configurationRows(status.gateway),
    ...yoloRows(status.sessions, now),
    ['home', status.home],
    ...gatewayRows(status.gateway),
    ...sessionRows(status.sessions, now),
    ...rows('command line', status.backend),
    ...rows('messaging', status.messaging),
    ['', `${status.messaging.isolation === 'none' ? 'no sandbox; a directory' : 'a sandbox'} for each ${status.messaging.scope}`],
    ['limits', `${cpuText(cpus)}, ${memoryMb} MB memory, ${diskMb} MB disk, ${pids} processes (0 is none)`],
    ['timeout', `${durationText(status.timeoutSeconds * 1000)} for each command`],
    ['sandboxes', `${status.sandboxes.total}, ${status.sandboxes.running} running`],
    ...status.sandboxes.missingDirectories.map((text) => ['', `WARNING: ${text}`]),
    ['approvals', `${status.approvals.mode}, ${status.approvals.open} pending, ${answerTime} to answer`],
  ]);
}

function configurationRows(gateway: RunningGateway | null): string[][] {
  const { problem = null, restart = [] } = gateway?.configuration ?? {};
  return [...(problem === null ? [] : [problem]), ...restart].map((line) => ['configuration', printable(line)]);
}

function yoloRows(sessions: readonly SessionStatus[], now: Date): string[][] {
  return yoloTexts(sessions, now).map((text) => ['YOLO', `approvals are off: ${text}`]);
}

function sessionRows(sessions: readonly SessionStatus[], now: Date): string[][] {
  return sessions.map((session, index) => [index === 0 ? 'sessions' : '', `${session.title}: ${sessionText(session, now) || 'idle'}`]);
}

function gatewayRows(gateway: RunningGateway | null): string[][] {
  if (!gateway) return [['gateway', `not running; start it with ${hermetic} start`]];
  if (gateway.state === 'starting') return [['gateway', 'starting']];
  const { url, model, turnsRunning, questionsOpen, channels, access } = gateway;
  return [
    ['gateway', url ? `running at ${url}` : 'running'],
    ['', `model ${model ?? `none: ${hermetic} setup adds one`}`],
    ['', `${turnsRunning} turns running, ${questionsOpen} pending`],
    ...channels.map(({ kind, state, reason }) => ['', `${kind} is ${state}${reason ? `: ${printable(reason)}` : ''}`]),
    ...access.map(({ channel, text }) => ['', `who may talk on ${channel}: ${text}`]),
  ];
}

function rows(
  title: string,
  {
    configured,
    used,
    isolation,
    image,
    network,
    networkRules,
    networkWarning,
    idleSeconds,
    unusable,
    unenforced,
    proof,
  }: SandboxStatusFacts,
): string[][] {
  return [
    [title, used === null ? `no sandbox backend works here (${configured})` : `${used} (${configured})`],
    [
      '',
      `isolation ${isolation ?? '-'}, image ${image ?? '-'}, network ${networkText({ network, networkRules: networkRules ?? undefined })}, closed after ${durationText(idleSeconds * 1000)} idle`,
    ],
    // A gateway of an earlier version does not say it.
    ...(networkWarning ? [['', networkWarning]] : []),
    [
      '',
      proof === null
        ? `not proven yet: ${hermetic} doctor --prove`
        : `${proof.held ? 'proven to contain' : 'PROVEN NOT TO CONTAIN'} at ${proof.provenAt}`,
    ],
    ...unenforced.map((sentence) => ['', sentence]),
    ...unusable.map(({ backend, reason }) => ['', `not ${backend}: ${reason}`]),
  ];
}
