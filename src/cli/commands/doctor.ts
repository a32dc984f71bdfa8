import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { checkConfig } from '../../config/load.ts';
import type { Check } from '../../core/sandbox.ts';
import { type CliIo, commandOn } from '../io.ts';
import { appOf } from '../session-options.ts';

const explanation = `
Starts a throw-away sandbox on every backend and runs true in it. Exits with 0 when the configured backend can be used, with 3 when it
cannot, with 2 when the configuration is wrong.`;

export function doctorCommand(io: CliIo): Command {
  return commandOn(io, 'doctor')
    .description('what works on this machine, what does not, and how to fix it')
    .option('--json', 'print an object')
    .addHelpText('after', explanation)
    .action(async ({ json }: { json?: boolean }) => {
      const problems = checkConfig({ environment: io.environment });
      if (problems.length > 0) {
        if (json) io.stdout.write(`${JSON.stringify({ configuration: problems }, undefined, 2)}\n`);
        else io.stdout.write(`configuration: wrong\n${problems.map(({ message }) => `  ${message}\n`).join('')}`);
        io.setExitCode(2);
        return;
      }
      const app = appOf(io);
      const checks = new Map<string, Check>();
      for (const [kind, backend] of app.backends) {
        if (!json) io.stderr.write(`hermetic: trying ${kind} …\n`);
        checks.set(kind, await backend.check());
      }
      const usable = app.candidates(app.settings('cli').backend).find(({ kind }) => checks.get(kind)?.usable);
      if (json) io.stdout.write(`${JSON.stringify(facts(app, checks, usable?.kind), undefined, 2)}\n`);
      else io.stdout.write(prose(app, checks, usable?.kind));
      io.setExitCode(usable ? 0 : 3);
    });
}

function facts(app: App, checks: ReadonlyMap<string, Check>, usable: string | undefined) {
  return {
    configuration: [],
    home: app.loaded.home,
    backend: { configured: app.loaded.config.terminal.backend, used: usable ?? null },
    backends: Object.fromEntries(checks),
  };
}

function prose(app: App, checks: ReadonlyMap<string, Check>, usable: string | undefined): string {
  const configured = app.loaded.config.terminal.backend;
  const lines = ['configuration: fine'];
  for (const [kind, check] of checks) {
    if (!check.usable) {
      lines.push(`${kind}: not usable`, `  why: ${check.reason}`, `  fix: ${check.fix}`);
      continue;
    }
    lines.push(`${kind}: usable, ${check.summary}`, ...check.notes.map((note) => `  note: ${note}`));
    for (const [name, { enforced, how }] of Object.entries(check.limits))
      lines.push(`  ${name}: ${enforced ? 'enforced' : 'not enforced'}, ${how}`);
  }
  lines.push(
    usable ? `terminal.backend ${configured}: sandboxes are made by ${usable}` : `terminal.backend ${configured}: no sandbox can be made`,
  );
  return `${lines.join('\n')}\n`;
}
