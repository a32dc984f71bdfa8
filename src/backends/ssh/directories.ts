import { HermeticError } from '../../core/errors.ts';
import type { DiskUse } from '../../core/sandbox.ts';
import { explained } from './errors.ts';
import type { Answer, Machine } from './machine.ts';

/** The directory of a session on the remote machine. */
export interface RemoteDirectory {
  /** The home of the user there. */
  home: string;
  /** Absolute; the workspace is in it. */
  path: string;
  isNew: boolean;
}

/** Security: a remote machine may answer anything. A path is used only in messages, and as the start of a session. */
const maxPath = 4096;

/** The directories of one installation on a remote machine: `<where>/<installation>/<name>`. */
export class Directories {
  readonly #machine: Machine;
  readonly #place: readonly [where: string, installation: string];

  constructor(machine: Machine, where: string, installation: string) {
    this.#machine = machine;
    this.#place = [where, installation];
  }

  /** Makes the directory or finds it. */
  async open(name: string): Promise<RemoteDirectory> {
    const answer = await this.#run('open', name);
    const { host } = this.#machine.target;
    switch (answer.code) {
      case 0:
        break;
      case 81:
        throw new HermeticError('backend/not-installed', `${host} has ${answer.stderr}, and 5.0 or newer is needed.`, {
          hint: 'Install a newer bash there.',
        });
      case 82:
        throw new HermeticError('backend/not-installed', `${host} has no program ${answer.stderr}.`, {
          hint: 'Install GNU coreutils there.',
        });
      case 83:
        throw new HermeticError('backend/unavailable', `The directory for sessions cannot be used on ${host}: ${answer.stderr}`, {
          hint: 'Set terminal.ssh_directory to one that the remote user can make and owns.',
        });
      default:
        throw noAnswer(host, answer);
    }
    const [home = '', path = '', age = '', rest] = answer.stdout.split('\n');
    const isPath = (text: string): boolean => text.startsWith('/') && text.length <= maxPath && !text.includes('\0');
    if (!isPath(home) || !isPath(path) || !(age === 'new' || age === 'old') || rest !== '') throw noAnswer(host, answer);
    return { home, path, isNew: age === 'new' };
  }

  async remove(name: string): Promise<void> {
    const answer = await this.#run('remove', name);
    if (answer.code === 0) return;
    const { host } = this.#machine.target;
    throw new HermeticError('backend/unavailable', `The files of ${name} could not be removed from ${host}: ${reasonIn(answer)}`);
  }

  /** Doubt counts as files. */
  async list(): Promise<{ name: string; changedAt: Date; hasFiles: boolean }[]> {
    const { stdout } = await this.#run('list');
    return stdout.split('\n').flatMap((line) => {
      // Security: only names that we have made.
      const [, seconds, content, name] = /^(\d{1,12}) (empty|files) ([a-z0-9-]{1,40})$/.exec(line) ?? [];
      return name === undefined ? [] : [{ name, changedAt: new Date(Number(seconds) * 1000), hasFiles: content !== 'empty' }];
    });
  }

  async diskUse(name: string): Promise<DiskUse> {
    const { stdout } = await this.#run('disk-use', name);
    const [kilobytes = 0, files = 0] = stdout.split('\n').map((line) => Number.parseInt(line, 10) || 0);
    return { bytes: kilobytes * 1024, deletedBytes: 0, files };
  }

  #run(script: string, ...args: readonly string[]): Promise<Answer> {
    return explained(this.#machine.run(['ssh-directory', `ssh-${script}`], [...this.#place, ...args]));
  }
}

function noAnswer(host: string, answer: Answer): HermeticError {
  const isMissing = answer.code === 127;
  return new HermeticError(
    isMissing ? 'backend/not-installed' : 'backend/unavailable',
    isMissing ? `${host} has no bash.` : `${host} did not answer as expected: ${reasonIn(answer)}`,
    {
      hint: isMissing
        ? 'Install bash 5 or newer and GNU coreutils there.'
        : 'A command must start there by ssh: look at the login shell and the login files of the user, and at ForceCommand of its sshd.',
    },
  );
}

function reasonIn({ code, stderr }: Answer): string {
  return stderr || `it ended with code ${code ?? 'unknown'}`;
}
