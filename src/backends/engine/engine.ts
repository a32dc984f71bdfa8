import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../lib/backoff.ts';
import { errorText } from '../../lib/error-text.ts';
import { Lane } from '../../lib/lanes.ts';
import { refusedStatus } from '../refusal.ts';
import { type CallOptions, Connection } from './connection.ts';
import { type LibpodInfo, truthfulInfo, withUlimits } from './libpod.ts';

/** The part of `GET /info` that matters here, in the engine's own words. */
export interface EngineInfo {
  ServerVersion: string;
  OperatingSystem: string;
  OSType: string;
  KernelVersion: string;
  Driver: string;
  DriverStatus: [string, string][] | null;
  Runtimes: Record<string, unknown>;
  DefaultRuntime: string;
  SecurityOptions: string[] | null;
  CgroupVersion?: string;
  NCPU: number;
  MemTotal: number;
  MemoryLimit: boolean;
  SwapLimit: boolean;
  CpuCfsQuota: boolean;
  PidsLimit: boolean;
  /** Only libpod says it. */
  Rootless?: boolean;
}

export interface ContainerState {
  id: string;
  name: string;
  running: boolean;
  paused: boolean;
  /** On the machine of the engine; 0 when it does not run. */
  pid: number;
  /** Where the engine keeps what is written in the container itself, on its machine; undefined where it does not say. */
  layerDirectory: string | undefined;
  exitCode: number;
  oomKilled: boolean;
  /** The error that the engine reports, or ''. */
  error: string;
  imageId: string;
  labels: Record<string, string>;
  createdAt: Date;
}

export interface ContainerSummary {
  id: string;
  name: string;
  running: boolean;
  image: string;
  labels: Record<string, string>;
  createdAt: Date;
}

export interface VolumeSummary {
  name: string;
  labels: Record<string, string>;
}

export interface ContainerEnd {
  /** undefined when the container is gone and its code is unknown. */
  exitCode: number | undefined;
  reason: string;
}

interface RawContainer {
  Id: string;
  Name: string;
  Created: string;
  Image: string;
  State: { Running: boolean; Paused: boolean; Pid: number; ExitCode: number; OOMKilled: boolean; Error: string };
  Config: { Labels: Record<string, string> | null };
  GraphDriver?: { Data?: { UpperDir?: string } | null } | null;
}

interface RawVolume {
  Name: string;
  Labels?: Record<string, string> | null;
  UsageData?: { Size: number } | null;
}

interface RawSummary {
  Id: string;
  Names: string[] | null;
  Image: string;
  State: string;
  Created: number;
  Labels: Record<string, string> | null;
}

/** In the words of `POST /containers/create`. */
export interface CreateBody {
  Labels?: Readonly<Record<string, string>>;
  [field: string]: unknown;
}

/** Libpod starts several programs to tell about itself, which takes longer than to make a container. */
const libpodInfoMs = 60_000;
/** About ten seconds in all. */
const maxCountingTries = 16;
const countingPauses = { firstMs: 50, maxMs: 1_000, isSpread: true };

/** One engine: what can be done with its containers. */
export class Engine extends Connection {
  /** Counts the bytes of volumes. */
  readonly #counting = new Lane();
  #known: { answer: Promise<EngineInfo>; until: number } | undefined;

  async info(options: CallOptions = {}): Promise<EngineInfo> {
    if (!(await this.isLibpod())) return await this.request('GET', '/info', undefined, options);
    if (!this.#known || this.#known.until < Date.now()) {
      // Callers share this answer, so no single caller's signal may end it.
      const answer = this.#libpodInfo(options.timeoutMs);
      this.#known = { answer, until: Date.now() + libpodInfoMs };
      answer.catch(() => {
        this.#known = undefined;
      });
    }
    return await this.#known.answer;
  }

  async #libpodInfo(timeoutMs: number | undefined): Promise<EngineInfo> {
    const [info, own] = await Promise.all([
      this.request<EngineInfo>('GET', '/info', undefined, { timeoutMs }),
      this.request<LibpodInfo>('GET', '/libpod/info', undefined, { timeoutMs }),
    ]);
    return truthfulInfo(info, own);
  }

  /**
   * Resolves with the id. When it throws, no container is left: `signal` counts only after the engine has answered, because an engine goes
   * on making a container whose client has left.
   */
  async createContainer(name: string, body: CreateBody, options: CallOptions = {}): Promise<string> {
    options.signal?.throwIfAborted();
    const mark = crypto.randomUUID();
    const own = (await this.isLibpod()) ? withUlimits(body) : body;
    const marked = { ...own, Labels: { ...body.Labels, 'hermetic.create': mark } };
    let id: string;
    try {
      const path = `/containers/create?name=${encodeURIComponent(name)}`;
      id = (await this.request<{ Id: string }>('POST', path, marked, { timeoutMs: options.timeoutMs })).Id;
    } catch (error) {
      if (refusedStatus(error) === undefined) {
        await this.#removeMarked(mark);
      }
      throw error;
    }
    if (options.signal?.aborted) {
      await this.remove(id);
      options.signal.throwIfAborted();
    }
    return id;
  }

  start(id: string, options: CallOptions = {}): Promise<void> {
    return this.request('POST', `/containers/${encodeURIComponent(id)}/start`, undefined, options);
  }

  /** undefined when there is no such container. */
  async inspect(idOrName: string, options: CallOptions = {}): Promise<ContainerState | undefined> {
    const answer = this.request<RawContainer>('GET', `/containers/${encodeURIComponent(idOrName)}/json`, undefined, options);
    const found = await unlessMissing(answer);
    return (
      found && {
        id: found.Id,
        name: found.Name.replace(/^\//, ''),
        running: found.State.Running,
        paused: found.State.Paused,
        pid: found.State.Pid,
        layerDirectory: found.GraphDriver?.Data?.UpperDir,
        exitCode: found.State.ExitCode,
        oomKilled: found.State.OOMKilled,
        error: found.State.Error,
        imageId: found.Image,
        labels: found.Config.Labels ?? {},
        createdAt: new Date(found.Created),
      }
    );
  }

  /** Size of the files written in the container itself, outside its mounts; 0 when there is no container. */
  async layerBytes(idOrName: string): Promise<number> {
    const answer = this.request<{ SizeRw?: number }>('GET', `/containers/${encodeURIComponent(idOrName)}/json?size=1`);
    return (await unlessMissing(answer))?.SizeRw ?? 0;
  }

  /** Size of these volumes together. The engine looks at all it has. */
  async volumeBytes(names: readonly string[]): Promise<number> {
    const volumes = await this.#counting.run(() => this.#countVolumes());
    const wanted = volumes.filter(({ Name }) => names.includes(Name));
    return wanted.reduce((total, { UsageData }) => total + Math.max(UsageData?.Size ?? 0, 0), 0);
  }

  /** Docker 20.10 does this for one client at a time, and refuses the others, which may be of another program. */
  async #countVolumes(): Promise<RawVolume[]> {
    for (let refusals = 1; ; refusals += 1) {
      try {
        return (await this.request<{ Volumes?: RawVolume[] | null }>('GET', '/system/df?type=volume')).Volumes ?? [];
      } catch (error) {
        const isTaken = refusedStatus(error) === 500 && errorText(error).includes('already running');
        if (!isTaken || refusals >= maxCountingTries) throw error;
        await delay(backoffMs(refusals, countingPauses));
      }
    }
  }

  /** Resolves when the container has stopped or is gone, however long that takes. Rejects when the engine itself goes away. */
  async wait(id: string, options: CallOptions = {}): Promise<ContainerEnd> {
    const path = `/containers/${encodeURIComponent(id)}/wait?condition=not-running`;
    const answer = this.request<{ StatusCode: number; Error?: { Message: string } | null }>('POST', path, undefined, {
      timeoutMs: 0,
      ...options,
    });
    const end = await unlessMissing(answer);
    if (!end) {
      return { exitCode: undefined, reason: 'the container was removed' };
    }
    return { exitCode: end.StatusCode, reason: end.Error?.Message || `the container stopped with code ${end.StatusCode}` };
  }

  /** Does nothing when the container does not run. */
  async kill(id: string, signal = 'KILL', options: CallOptions = {}): Promise<void> {
    try {
      await this.request('POST', `/containers/${encodeURIComponent(id)}/kill?signal=${encodeURIComponent(signal)}`, undefined, options);
    } catch (error) {
      const status = refusedStatus(error);
      if (status === 404 || status === 409) return;
      // Podman has no status of its own for a container that does not run.
      if (status === undefined || (await this.inspect(id, options))?.running === true) throw error;
    }
  }

  /** Ends and removes the container. Resolves when it is gone, also when another client removes it. */
  async remove(idOrName: string, options: CallOptions = {}): Promise<void> {
    const path = `/containers/${encodeURIComponent(idOrName)}?force=1&v=1`;
    for (let attempt = 1; ; attempt++) {
      try {
        return await unlessMissing(this.request<undefined>('DELETE', path, undefined, options));
      } catch (error) {
        // 409: another client is removing it. 500: one of its file systems is busy. Both pass.
        const status = refusedStatus(error);
        if ((status !== 409 && status !== 500) || attempt === 30) {
          throw error;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(25 * attempt, 500)));
    }
  }

  /** Does nothing when there is no such volume. */
  async removeVolume(name: string, options: CallOptions = {}): Promise<void> {
    await unlessMissing(this.request<undefined>('DELETE', `/volumes/${encodeURIComponent(name)}?force=1`, undefined, options));
  }

  /** A volume must have all the labels. */
  async volumes(labels: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<VolumeSummary[]> {
    const path = `/volumes?${labelFilter(labels)}`;
    const { Volumes } = await this.request<{ Volumes: RawVolume[] | null }>('GET', path, undefined, options);
    return (Volumes ?? []).map(({ Name, Labels }) => ({ name: Name, labels: Labels ?? {} }));
  }

  /** Running or not. A container must have all the labels. */
  async list(labels: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<ContainerSummary[]> {
    const found = await this.request<RawSummary[]>('GET', `/containers/json?all=1&${labelFilter(labels)}`, undefined, options);
    return found.map((one) => ({
      id: one.Id,
      name: one.Names?.[0]?.replace(/^\//, '') ?? one.Id,
      running: one.State === 'running' || one.State === 'paused' || one.State === 'restarting',
      image: one.Image,
      labels: one.Labels ?? {},
      createdAt: new Date(one.Created * 1000),
    }));
  }

  /** After a create with an unknown outcome. */
  async #removeMarked(mark: string): Promise<void> {
    try {
      const left = await this.list({ 'hermetic.create': mark }, { timeoutMs: 10_000 });
      await Promise.all(left.map((one) => this.remove(one.id)));
    } catch {
      // The engine that has just failed has failed again. The first failure is the one to report; the labels let a later sweep find the rest.
    }
  }
}

function labelFilter(labels: Readonly<Record<string, string>>): string {
  const filters = { label: Object.entries(labels).map(([key, value]) => `${key}=${value}`) };
  return `filters=${encodeURIComponent(JSON.stringify(filters))}`;
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (refusedStatus(error) === 404) {
      return undefined;
    }
    throw error;
  }
}
