import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from '../../test/gateway/program.ts';
import { type LoopDelay, Probe } from './probe.ts';
import { descendants, descriptors, proportionalBytes, residentBytes } from './process-facts.ts';
import { answering, NetworkSeen } from './script.ts';

/** What the gateway holds. */
export interface Held {
  resident: number;
  proportional: number;
  /** After everything that nothing refers to was freed. */
  liveHeap: number;
  external: number;
  descriptors: number;
  children: number;
  database: number;
  log: number;
}

/** The most that was seen while it worked. */
export interface Peaks {
  resident: number;
  descriptors: number;
  children: number;
  log: number;
}

const sampleEveryMs = 1000;
const maxOutputLength = 200_000;
const snapshots = process.env.HERMETIC_SOAK_SNAPSHOTS;

/** The gateway between the fakes, and what can be seen of it from outside. */
export class Subject {
  readonly program: Program;
  readonly network: NetworkSeen;
  peaks: Peaks = { resident: 0, descriptors: 0, children: 0, log: 0 };
  readonly #name: string;
  readonly #probe: Probe;
  readonly #sampling: NodeJS.Timeout;

  private constructor(name: string, program: Program, network: NetworkSeen, probe: Probe) {
    this.#name = name;
    this.program = program;
    this.network = network;
    this.#probe = probe;
    this.#sampling = setInterval(() => this.#sample(), sampleEveryMs).unref();
  }

  static async start(name: string, config: Record<string, Record<string, unknown>>): Promise<Subject> {
    const network = new NetworkSeen();
    const probe = new Probe(name);
    const { environment } = probe;
    const program = await Program.start({ script: answering(network), config, preload: Probe.module, environment });
    return new Subject(name, program, network, probe);
  }

  get database(): string {
    return join(this.program.directory, 'state.db');
  }

  /** Of the event loop, since this or `held` was last asked. */
  async loopDelay(): Promise<LoopDelay> {
    return (await this.#probe.ask(this.program.pid)).loop;
  }

  /** `phase`: names the heap snapshot. */
  async held(phase: string): Promise<Held> {
    const { pid } = this.program;
    const snapshot = snapshots === undefined ? undefined : join(snapshots, `${this.#name} ${phase}.heapsnapshot`.replaceAll(' ', '-'));
    const { heapUsed, external } = await this.#probe.ask(pid, { collects: true, snapshot });
    return {
      resident: residentBytes(pid),
      proportional: proportionalBytes(pid),
      liveHeap: heapUsed,
      external,
      descriptors: descriptors(pid),
      children: descendants(pid).length,
      database: sizeOf(this.database),
      log: sizeOf(`${this.database}-wal`),
    };
  }

  get children(): number {
    return descendants(this.program.pid).length;
  }

  async close(): Promise<void> {
    clearInterval(this.#sampling);
    // Asked to end, it closes its sandboxes.
    await this.program.stop();
    await this.program.close();
    this.#probe.close();
  }

  #sample(): void {
    const { program, peaks } = this;
    const { pid } = program;
    const largest = (seen: number, now: number): number => (now > seen ? now : seen);
    peaks.resident = largest(peaks.resident, residentBytes(pid));
    peaks.descriptors = largest(peaks.descriptors, descriptors(pid));
    peaks.children = largest(peaks.children, descendants(pid).length);
    peaks.log = largest(peaks.log, sizeOf(`${this.database}-wal`));
    if (program.output.length > maxOutputLength) program.output = program.output.slice(-maxOutputLength / 2);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
