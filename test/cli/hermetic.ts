import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, installedPath } from '../bin.ts';
import { until } from '../until.ts';

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The program as a user has it: one home, any number of invocations. */
export class Hermetic {
  readonly home = mkdtempSync(join(tmpdir(), 'hermetic-cli-'));
  readonly environment: Record<string, string>;
  readonly #launcher: readonly string[];

  /** `launcher` runs the words after it, for example in another network. */
  constructor(environment: Record<string, string> = {}, launcher: readonly string[] = []) {
    this.#launcher = launcher;
    this.environment = { PATH: installedPath, HOME: this.home, HERMETIC_HOME: join(this.home, '.hermetic'), ...environment };
  }

  start(args: readonly string[], environment: Record<string, string> = {}): ChildProcess {
    const [program = '', ...words] = [...this.#launcher, process.execPath, bin, ...args];
    return spawn(program, words, { env: { ...this.environment, ...environment }, stdio: 'pipe', cwd: this.home });
  }

  /** Configures the model that a server on this machine serves. */
  useModel(baseUrl: string): void {
    const home = this.environment.HERMETIC_HOME ?? '';
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(join(home, 'config.yaml'), `model:\n  provider: openai-compatible\n  model: scripted\n  base_url: ${baseUrl}\n`);
  }

  /** Resolves when the gateway that runs in this process has printed its link. */
  async untilGatewayRuns(child: ChildProcess): Promise<void> {
    let printed = '';
    child.stdout?.on('data', (data: Buffer) => {
      printed += data.toString();
    });
    child.stderr?.resume();
    await until('the gateway prints its link', () => printed.includes('#code='), { withinMs: 60_000 });
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
