import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { Backend, Check, DiskUse, ListedSandbox, OpenListener, OpenSandbox, Places, SandboxSpec } from '../../core/sandbox.ts';
import { errorText } from '../../lib/error-text.ts';
import { targetText } from '../../lib/ssh/target.ts';
import { cannotRestrict } from '../cannot-restrict.ts';
import type { BackendContext } from '../context.ts';
import type { BackendDriver } from '../driver.ts';
import { bareSandbox, listDirectories, makeSandboxDirectory, removeSandboxDirectory, removeTree } from '../sandbox-directory.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { workdirInside } from '../workdir.ts';
import { checkMachine, limits } from './check.ts';
import { Directories } from './directories.ts';
import { listedRecord, listedRemains } from './listing.ts';
import { Machine, sshOptionsOf } from './machine.ts';
import { type ConfiguredSsh, sshOptions } from './options.ts';
import { formerTarget, recordTarget } from './recorded-target.ts';
import { attachToMachine } from './sandbox.ts';

const onMachine = 'ssh runs commands on the remote machine itself';
const noNetworkOfItsOwn = `${onMachine}, which has its network`;

export const ssh: BackendDriver<typeof sshOptions> = {
  kind: 'ssh',
  summary: 'Commands run on another machine as a user of it: away from this host, but nothing protects that machine from them.',
  options: sshOptions,
  /** Security: the agent opens the machines of its owner. */
  engineSockets: ({ ssh_host: host }, { SSH_AUTH_SOCK: agent }) => (host === undefined || !agent ? [] : [agent]),
  create: (context, options) => new SshBackend(context, options),
};

interface Remote {
  machine: Machine;
  directories: Directories;
}

class SshBackend implements Backend {
  readonly kind = 'ssh';
  readonly traits = {
    isolation: 'machine',
    disposable: false,
    durable: false,
    seesDisk: true,
    hostAliases: [],
    insists: undefined,
    installing:
      'Others may use that machine too: be careful with everything that cannot be undone. What you install is installed on the machine itself: ask before you do.',
    honours: {
      image: `${onMachine}, which has no image`,
      mounts: 'directories of this machine cannot be shown on a remote one',
      'host-user': 'commands run as terminal.ssh_user of the remote machine',
      'network-none': noNetworkOfItsOwn,
      'network-open': true,
      ephemeral: true,
    },
  } as const;
  readonly settings: readonly string[];
  readonly #context: BackendContext;
  readonly #options: ConfiguredSsh;
  #remote: Remote | undefined;
  /** The home of the remote user, once it is known. */
  #home: string | undefined;

  constructor(context: BackendContext, options: ConfiguredSsh) {
    this.#context = context;
    this.#options = options;
    const { ssh_host: host, ssh_user: user, ssh_port: port, ssh_jump: jump, ssh_directory: directory } = options;
    this.settings = [host ?? '', user ?? '', String(port), jump ?? '', directory];
  }

  /** Throws when it is not configured. */
  #reach(): Remote {
    this.#remote ??= this.#makeRemote();
    return this.#remote;
  }

  #makeRemote(): Remote {
    const machine = new Machine(sshOptionsOf(this.#options, this.#context));
    return { machine, directories: new Directories(machine, this.#options.ssh_directory, this.#context.installation) };
  }

  /** By connections of its own, which tell how the settings are now. */
  check(): Promise<Check> {
    return checkMachine(() => this.#makeRemote());
  }

  async canRestrict(): Promise<true | string> {
    return noNetworkOfItsOwn;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    if (spec.network === 'restricted') throw cannotRestrict(this.kind, noNetworkOfItsOwn);
    const { machine, directories } = this.#reach();
    const removeFiles = async (): Promise<void> => {
      await directories.remove(spec.name);
      await removeSandboxDirectory(spec.directory);
    };
    const isNew = await makeSandboxDirectory(spec);
    const release = machine.hold();
    let isNewThere = false;
    try {
      signal?.throwIfAborted();
      const remote = await directories.open(spec.name);
      this.#home = remote.home;
      isNewThere = remote.isNew;
      signal?.throwIfAborted();
      if (isNew) for (const sentence of unenforcedLimits(spec.limits, limits, this.traits)) listener.notice(sentence);
      else await tellOfLostFiles(spec, targetText(machine.target), remote.isNew, listener);
      await recordTarget(spec.directory, targetText(machine.target));
      const { workdir } = this.places(spec);
      return await attachToMachine({ machine, spec, workdir, removeFiles }, signal);
    } catch (error) {
      // A machine that cannot be reached keeps an empty directory at most, which is listed.
      // Security: a directory that was there has the files of the session, also where its directory on this machine is new.
      if (isNew && isNewThere) await removeFiles().catch(() => removeTree(spec.directory));
      else if (isNew) await removeTree(spec.directory);
      signal?.throwIfAborted();
      if (error instanceof HermeticError) throw error;
      throw new HermeticError('sandbox/open-failed', `No shell starts on ${machine.target.host}: ${errorText(error)}`, { cause: error });
    } finally {
      release();
    }
  }

  /** The home is a guess until a session was opened. */
  places({ name, env, workdir }: SandboxSpec): Places {
    const { ssh_user: user = 'root', ssh_directory: where } = this.#options;
    const own = this.#home ?? (user === 'root' ? '/root' : `/home/${user}`);
    const base = where.startsWith('~') ? `${own}${where.slice(1)}` : where;
    const home = env.HOME ?? own;
    return { home, workdir: workdirInside(workdir, { home, workspace: `${base}/${this.#context.installation}/${name}/workspace` }) };
  }

  /** No directory of this machine is seen there. */
  async received(): Promise<undefined> {
    return undefined;
  }

  async diskUse({ name }: SandboxSpec): Promise<DiskUse> {
    return await this.#reach().directories.diskUse(name);
  }

  /** Without the remote machine, where that cannot be reached now. */
  async list(): Promise<ListedSandbox[]> {
    const directory = join(this.#context.sandboxesDirectory, this.kind);
    const { records, bare } = await listDirectories(directory);
    const reach = (): Remote => this.#reach();
    // Where nothing was ever made, nothing can be left.
    const isUsed = existsSync(directory) && this.#options.ssh_host !== undefined;
    const names = isUsed ? await listedRemains(reach, records) : [];
    return [...records.map((record) => listedRecord(record, reach)), ...names, ...bare.map((one) => bareSandbox(one))];
  }
}

/** A session that finds none of its files is not to believe that it never had any. */
async function tellOfLostFiles(spec: SandboxSpec, target: string, isNew: boolean, listener: OpenListener): Promise<void> {
  const former = await formerTarget(spec.directory);
  if (former === undefined || !isNew) return;
  const text = 'The files of this session are not on the remote machine any more: it starts with an empty workspace.';
  listener.notice(
    former === target ? text : `The files of this session stay on ${former}: it starts with an empty workspace on ${target}.`,
    text,
  );
}
