import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../bin/hermetic.mjs', import.meta.url));

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The program as a user has it: one home, any number of invocations. */
export class Hermetic {
  readonly home = mkdtempSync(join(tmpdir(), 'hermetic-cli-'));
  readonly environment: Record<string, string>;

  constructor(environment: Record<string, string> = {}) {
    this.environment = { PATH: process.env.PATH ?? '', HOME: this.home, HERMETIC_HOME: join(this.home, '.hermetic'), ...environment };
  }

  start(args: readonly string[], environment: Record<string, string> = {}): ChildProcess {
    return spawn(process.execPath, [bin, ...args], { env: { ...this.environment, ...environment }, stdio: 'pipe', cwd: this.home });
  }

  async run(args: readonly string[], options: { input?: string; environment?: Record<string, string> } = {}): Promise<Outcome> {
    const child = this.start(args, options.environment);
    const outcome: Outcome = { code: null, stdout: '', stderr: '' };
    child.stdout?.on('data', (data: Buffer) => {
      outcome.stdout += data.toString();
    });
    child.stderr?.on('data', (data: Buffer) => {
      outcome.stderr += data.toString();
    });
    child.stdin?.end(options.input ?? '');
    [outcome.code] = (await once(child, 'close')) as [number | null];
    return outcome;
  }
}
