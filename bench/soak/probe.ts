import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../test/until.ts';

/** How late the event loop came round, in milliseconds. */
export interface LoopDelay {
  p50: number;
  p99: number;
  max: number;
}

interface ProbeAnswer {
  id: number;
  /** Since the answer before. */
  loop: LoopDelay;
  heapUsed: number;
  /** Bytes outside the heap that objects of it hold. */
  external: number;
}

const deadlineMs = 120_000;

/** Asks the module that is loaded into the gateway. */
export class Probe {
  static readonly module = fileURLToPath(new URL('../soak-probe.mjs', import.meta.url));
  readonly #file: string;
  #last = 0;

  constructor(name: string) {
    this.#file = join(tmpdir(), `hermetic-soak-${process.pid}-${name.replaceAll(' ', '-')}.json`);
  }

  get environment(): Record<string, string> {
    return { HERMETIC_SOAK_PROBE: this.#file };
  }

  /** `collects`: frees all garbage first. `snapshot`: a file for all that is in the heap. */
  async ask(pid: number, request: { collects?: boolean; snapshot?: string | undefined } = {}): Promise<ProbeAnswer> {
    const id = ++this.#last;
    const answer = `${this.#file}.answer`;
    rmSync(answer, { force: true });
    writeFileSync(this.#file, JSON.stringify({ id, ...request }));
    process.kill(pid, 'SIGUSR2');
    await until('the probe has answered', () => existsSync(answer), { withinMs: deadlineMs, everyMs: 10 });
    return JSON.parse(readFileSync(answer, 'utf8')) as ProbeAnswer;
  }

  close(): void {
    for (const end of ['', '.new', '.answer']) rmSync(`${this.#file}${end}`, { force: true });
  }
}
