import * as z from 'zod';
import { backendDrivers } from '../../backends/index.ts';
import {
  amount,
  choice,
  flag,
  listOf,
  markRestart,
  notes,
  seconds,
  text,
  variableNames,
  variables,
  wholeNumber,
} from '../../lib/setting-kinds.ts';
import { backend, hostPath } from '../kinds.ts';
import { volume } from '../volumes.ts';

const automatic = backendDrivers.flatMap(({ kind, auto }) => (auto ? [[kind, auto.when].filter(Boolean).join(' ')] : []));
const others = backendDrivers.flatMap(({ kind, auto }) => (auto ? [] : [`\`${kind}\``]));

/** Only the folder of a backend knows the names and types of its own keys. */
const ofBackends: object = Object.assign({}, ...backendDrivers.map(({ options }) => options.shape));

export const terminal = z
  .strictObject({
    backend: backend()
      .default('auto')
      .meta({
        description: `What makes sandboxes. \`auto\` is ${automatic.join(', else ')}; never ${others.join(' or ')}.`,
        variable: 'TERMINAL_ENV',
      }),
    cwd: text()
      .refine((path) => !/^~[^/]/.test(path))
      .register(notes, { expects: 'a directory inside the sandbox: /path, ~, ~/path or a relative path' })
      .optional()
      .describe(
        "Where a session starts, inside the sandbox; unset is the backend's own place for work. `~` is the sandbox's home. A relative path, `.` too, begins at the workspace; on `local` it begins where Hermetic was started. A directory that is missing is made; where it cannot be made, the sandbox does not open.",
      ),
    timeout: seconds()
      .default(180)
      .describe(
        'How long one foreground command may run, unless the call says otherwise. Never longer than `terminal.max_foreground_timeout`.',
      ),
    max_foreground_timeout: seconds().default(600).describe('The longest time any foreground command may ask for.'),
    lifetime_seconds: seconds().default(300).describe("How long a CLI session's sandbox may be idle before it is closed."),

    ...ofBackends,

    docker_forward_env: variableNames()
      .default([])
      .describe(
        'Variables whose values enter the sandbox, from the environment or `.env`. Naming one here overrides the blocklist of secrets. Anything that runs inside can read such a value and send it away.',
      ),
    docker_env: variables().default({}).describe('Variables with fixed values for the sandbox. Listings show the names only.'),
    docker_volumes: listOf(volume(), 'host:container[:ro|:rw] entries')
      .default([])
      .describe('Host directories and files to mount. `~/` is the home of the user who runs Hermetic.'),
    allow_dangerous_mounts: flag()
      .default(false)
      .describe(
        'Allows volumes that hand over the host: `/`, `/etc`, `/run`, the Hermetic home, `.ssh` and the like. The socket of a container engine stays refused, and is hidden in a directory that contains it. A gateway refuses the sandbox all the same when its containment proof finds the host in it.',
      ),
    docker_mount_cwd_to_workspace: flag().default(false).describe('Mounts the directory the CLI was started in at `/workspace`.'),
    docker_run_as_host_user: flag().default(false).describe('Runs commands under the uid and gid of the user who runs Hermetic.'),

    env_passthrough: variableNames().default([]).describe('Variables to let into the sandbox unless the blocklist of secrets names them.'),
    credential_files: listOf(credentialFile(), 'paths below the Hermetic home')
      .default([])
      .describe('Files of the Hermetic home to mount read-only in the sandbox.'),

    container_cpu: amount('a number of CPUs').default(1).describe('CPUs per sandbox; 0 is no limit.'),
    container_memory: wholeNumber('a whole number of megabytes', 0).default(5120).describe('Memory per sandbox; 0 is no limit.'),
    container_disk: wholeNumber('a whole number of megabytes', 0).default(51200).describe('Disk per sandbox; 0 is no limit.'),
    container_pids: wholeNumber('a whole number', 0).default(256).describe('Processes and threads per sandbox; 0 is no limit.'),
    container_persistent: flag()
      .default(true)
      .describe('Keeps `/workspace` and the home directory for the next time; otherwise they are gone on cleanup.'),
    network: choice(['none', 'restricted', 'open'])
      .optional()
      .describe(
        'What a sandbox can reach, for the CLI and for messaging sessions: `restricted` is what the section `network` allows, and sessions do not open where the backend does not support it. Unset, messaging sessions are `restricted` where the backend supports that; elsewhere, and for the CLI, unset is `open` where the backend can contain it, else `none`.',
      ),
    warm_spares: wholeNumber('a whole number', 0)
      .default(0)
      .describe('Sandboxes that a gateway keeps ready for sessions that have none yet. Each takes memory, and none is used twice.'),
    sandbox_dir: hostPath().default('$HERMETIC_HOME/sandboxes').describe('Where sandboxes keep their files on the host.'),
  })
  .describe('Where and how commands run.');

// Backends, tools and spares are made once.
markRestart(terminal, 'backend', 'sandbox_dir', 'warm_spares', 'timeout', 'max_foreground_timeout');

/** Security: symbolic links are resolved where the file is mounted; this keeps out what is wrong on its face. */
function credentialFile() {
  return text()
    .refine((path) => !path.startsWith('/') && !path.startsWith('~') && !path.split('/').includes('..'))
    .register(notes, { expects: 'a path relative to the Hermetic home, without ..' });
}
