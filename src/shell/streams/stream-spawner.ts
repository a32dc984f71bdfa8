import { randomBytes } from 'node:crypto';
import type { OpenSandbox } from '../../core/sandbox.ts';
import type { EndRecord } from '../end-channel.ts';
import { guestScript } from '../guest-scripts.ts';
import { markOf, newMarkBase } from '../marks.ts';
import { openShellSandbox, type Place } from '../shell-sandbox.ts';
import type { Shell, Spawner, SpawnRequest } from '../spawner.ts';
import type { StateStore } from '../state-store.ts';
import type { Attach } from './attached-command.ts';
import { ShellStream } from './shell-stream.ts';
import { ShellStreams } from './shell-streams.ts';
import { callMessage, message, StreamShell } from './stream-shell.ts';
import { type Pulse, Tether } from './tether.ts';

export interface StreamSpawnerOptions {
  attach: Attach;
  /** Resolves with the reason when the sandbox has ended. */
  ended: Promise<string>;
  /** The processes of our commands that outlive this process: those in the background, or none. */
  keep: 'background' | 'nothing';
  /** Which processes are seen there: those of the sandbox only, or those of a machine. */
  processes: 'own' | 'shared';
  /** Where the input of a command does not end when this program dies, or does not run any more. */
  pulse?: Pulse | undefined;
}

interface Scripts {
  boot: string;
  tether: string;
  supervisor: string;
  shell: string;
}

/**
 * Starts shells in a sandbox with which nothing is shared, on the streams of commands that run there. Nothing is written to the sandbox's
 * files. One spawner is one process of ours at one sandbox.
 */
export class StreamSpawner implements Spawner {
  readonly ended: Promise<string>;
  readonly #streams: ShellStreams;
  readonly #tether: Tether;
  readonly #base: number;
  readonly #shells = new Set<StreamShell>();
  #count = 0;
  #isOver = false;
  #isClosed = false;

  /** Does not wait for the sandbox to answer: the first shell does. */
  static async start(options: StreamSpawnerOptions): Promise<StreamSpawner> {
    const names = ['streamBoot', 'supervisor', 'streamShell', 'tether'] as const;
    const [boot = '', supervisor = '', shell = '', tether = ''] = await Promise.all(names.map(guestScript));
    return new StreamSpawner(options, { boot, supervisor, shell, tether });
  }

  private constructor({ attach, ended, keep, processes, pulse }: StreamSpawnerOptions, scripts: Scripts) {
    const commandLine = (...args: readonly string[]): string[] => [
      'bash',
      '--noprofile',
      '--norc',
      '-c',
      scripts.boot,
      'hermetic',
      ...args,
    ];
    this.#base = newMarkBase();
    this.#streams = new ShellStreams(async () => {
      // By its last word the tether finds it.
      const attached = await attach(commandLine(String(this.#base)));
      const key = randomBytes(16).toString('hex');
      attached.stdin.write(`${sized(scripts.supervisor)}${key} ${sized(scripts.shell)}`, 'latin1');
      return new ShellStream(attached, key, (supervisor) => this.#tether.leaves(supervisor));
    });
    this.ended = ended.then((reason) => {
      this.#isOver = true;
      for (const shell of this.#shells) shell.lost(reason);
      return reason;
    });
    this.#tether = new Tether({
      attach,
      ended,
      pulse,
      command: commandLine(String(this.#base), keep, processes, ...(pulse ? [String(pulse.silenceSeconds)] : [])),
      words: sized(scripts.tether),
    });
  }

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  spawn(request: SpawnRequest, receive: (record: EndRecord) => void, lost: (reason: string) => void): Shell {
    const mark = markOf(this.#base, ++this.#count);
    // Security: 128 random bits, so that no output is taken for a record.
    const nonce = randomBytes(16).toString('hex');
    this.#tether.started(mark);
    const shell = new StreamShell(
      this.#streams,
      { mark, nonce, words: wordsFor(request, mark, nonce), begun: request.call !== undefined, tethered: this.#tether.connected },
      {
        receive: (record) => {
          // First, so that a caller that detaches at once leaves the command's background processes running.
          if (record.kind === 'completed' || record.kind === 'status') this.#tether.ended(mark);
          receive(record);
        },
        lost: (reason) => {
          // A tether that stays does not notice, and one that was cut off with it may not have known of it.
          if (!this.#isOver && !this.#isClosed) void this.#tether.kill(mark, 'KILL').catch(() => undefined);
          lost(reason);
        },
        forget: () => {
          this.#shells.delete(shell);
          this.#tether.ended(mark);
        },
        kill: (signal) => this.#tether.kill(mark, signal),
      },
    );
    this.#shells.add(shell);
    if (this.#isClosed) queueMicrotask(() => shell.detached());
    return shell;
  }

  hasLiveProcesses(waiting: string | undefined): Promise<boolean> {
    return this.#tether.hasLiveProcesses(waiting);
  }

  killAll(): Promise<void> {
    return this.#tether.kill('all', 'KILL');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const shell of this.#shells) shell.detached();
    this.#streams.close();
    this.#tether.close();
  }
}

/** The request for a shell; see `guest/supervisor.bash`. */
function wordsFor({ mode, restore, call, terminal }: SpawnRequest, mark: string, nonce: string): string {
  const { rows, columns } = terminal ?? { rows: 24, columns: 80 };
  const messages = message(restore) + (call ? callMessage(call, '') : '');
  // A shell that does not wait gets its messages from the supervisor, because its own input is the command's from the start.
  const early = call ? messages.length : 0;
  return `${mark} ${nonce} ${mode} ${rows} ${columns} ${early}\n${messages}`;
}

function sized(script: string): string {
  return `${script.length}\n${script}`;
}

/** A place with which nothing is shared; commands in it are reached by their streams. */
export interface RemotePlace extends Place, StreamSpawnerOptions {}

/** A sandbox whose shells are reached by streams. When this throws, the place has been ended. */
export function attachByStreams(place: RemotePlace, store: StateStore, signal?: AbortSignal): Promise<OpenSandbox> {
  return openShellSandbox(place, store, () => StreamSpawner.start(place), signal);
}
