import * as z from 'zod';
import { choice, markRestart, notes, variableName, wholeNumber } from '../../lib/setting-kinds.ts';
import { hostPattern, parseTarget, userPattern } from '../../lib/ssh/target.ts';

export const sshOptions = z.strictObject({
  ssh_host: z
    .string()
    .regex(hostPattern)
    .register(notes, { expects: 'a host name or an address' })
    .optional()
    .describe('Machine of the ssh backend, on which commands run.'),
  ssh_user: z
    .string()
    .regex(userPattern)
    .register(notes, { expects: 'the name of a user' })
    .optional()
    .describe('User on that machine, as which commands run.'),
  ssh_port: wholeNumber('a port', 1, 65_535).default(22).describe('Port of its sshd.'),
  ssh_key: hostFile()
    .optional()
    .describe(
      'Private key, which only its owner may be able to read. Without one, or when it is not accepted, those of the agent (`SSH_AUTH_SOCK`) are tried.',
    ),
  ssh_passphrase_env: variableName().optional().describe('Variable with the passphrase of the key, in the environment or `.env`.'),
  ssh_known_hosts: hostFile().default('~/.ssh/known_hosts').describe('File with the keys of known hosts.'),
  ssh_host_keys: choice(['accept-new', 'strict'])
    .default('accept-new')
    .describe(
      '`accept-new` remembers the key of a host that the file does not know; `strict` refuses it. A key that has changed or was revoked is always refused.',
    ),
  ssh_jump: z
    .string()
    .refine((text) => text.split(',').every((one) => parseTarget(one, 'user')))
    .register(notes, { expects: '[user@]host[:port], or several with commas in between' })
    .optional()
    .describe('Hosts to go through, the nearest first. They are shown the same keys, and their own are verified in the same way.'),
  ssh_directory: z
    .string()
    .regex(/^(~|~\/[^\0\n]+|\/[^\0\n]+)$/)
    .register(notes, { expects: 'a directory on the remote machine: /path or ~/path' })
    .default('~/.hermetic/sandboxes')
    .describe('Where the workspaces of sessions are on the remote machine.'),
});

markRestart(
  sshOptions,
  'ssh_host',
  'ssh_user',
  'ssh_port',
  'ssh_key',
  'ssh_passphrase_env',
  'ssh_known_hosts',
  'ssh_host_keys',
  'ssh_jump',
  'ssh_directory',
);

export type ConfiguredSsh = z.output<typeof sshOptions>;

/** The home of the user who runs this is known only later. */
function hostFile() {
  return z
    .string()
    .regex(/^(~\/[^\0\n]+|\/[^\0\n]+)$/)
    .register(notes, { expects: 'a file of this machine: /path or ~/path' });
}
