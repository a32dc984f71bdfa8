import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { type CliIo, commandOn } from '../io.ts';
import { appOf } from '../session-options.ts';
import { table } from '../table.ts';

export function statusCommand(io: CliIo): Command {
  return commandOn(io, 'status')
    .description('which backend is in force, how it contains commands, and what sandboxes there are')
    .option('--json', 'print an object')
    .action(async ({ json }: { json?: boolean }) => {
      const status = await gather(appOf(io));
      if (json) io.stdout.write(`${JSON.stringify(status, undefined, 2)}\n`);
      else io.stdout.write(prose(status));
    });
}

interface Status {
  home: string;
  backend: { configured: string; used: string | null; isolation: string | null; image: string | null; network: string };
  unusable: { backend: string; reason: string }[];
  warnings: string[];
  sandboxes: { total: number; running: number };
  limits: Record<string, number>;
  timeoutSeconds: number;
  idleSeconds: number;
}

async function gather(app: App): Promise<Status> {
  const { terminal } = app.loaded.config;
  const unusable: Status['unusable'] = [];
  let used: ReturnType<App['candidates']>[number] | undefined;
  for (const backend of app.candidates()) {
    const check = await backend.check();
    if (check.usable) {
      used = backend;
      break;
    }
    unusable.push({ backend: backend.kind, reason: check.reason });
  }
  const remains = (await Promise.all([...app.backends.values()].map((backend) => backend.list()))).flat();
  const spec = used && app.specFor({ session: 'default' }, used, { notice: () => undefined, progress: () => undefined });
  const open = used?.traits.honours['network-open'] === true;
  return {
    home: app.loaded.home,
    backend: {
      configured: terminal.backend,
      used: used?.kind ?? null,
      isolation: used?.traits.isolation ?? null,
      image: spec?.image ?? null,
      network: terminal.network ?? (open ? 'open' : 'none'),
    },
    unusable,
    warnings: used?.traits.isolation === 'none' ? [`${used.kind} has no isolation: commands run on the host itself.`] : [],
    sandboxes: { total: remains.length, running: remains.filter(({ state }) => state === 'running').length },
    limits: {
      cpus: terminal.container_cpu,
      memoryMb: terminal.container_memory,
      diskMb: terminal.container_disk,
      pids: terminal.container_pids,
    },
    timeoutSeconds: terminal.timeout,
    idleSeconds: terminal.lifetime_seconds,
  };
}

function prose(status: Status): string {
  const { backend, limits } = status;
  const rows = [
    ['home', status.home],
    ['backend', backend.used === null ? `none of ${backend.configured} works` : `${backend.used} (terminal.backend ${backend.configured})`],
    ['isolation', backend.isolation ?? '-'],
    ['image', backend.image ?? '-'],
    ['network', backend.network],
    ['limits', `${limits.cpus} cpus, ${limits.memoryMb} MB memory, ${limits.diskMb} MB disk, ${limits.pids} processes (0 is none)`],
    ['timeout', `${status.timeoutSeconds} s a command`],
    ['idle', `${status.idleSeconds} s until a sandbox is closed`],
    ['sandboxes', `${status.sandboxes.total}, ${status.sandboxes.running} running`],
    ...status.unusable.map(({ backend: kind, reason }) => [`not ${kind}`, reason]),
    ...status.warnings.map((warning) => ['warning', warning]),
  ];
  return table(rows);
}
