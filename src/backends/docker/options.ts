import * as z from 'zod';
import { listOf, markRestart, notes, text, word } from '../../lib/setting-kinds.ts';

export const dockerOptions = z.strictObject({
  docker_image: word('an image').default('nikolaik/python-nodejs:python3.11-nodejs20').describe('Image of the docker backend.'),
  docker_runtime: word('the name of a runtime').optional().describe("OCI runtime, for example `runsc`; unset is the engine's own."),
  docker_host: z
    .string()
    .regex(/^(unix:\/\/\/[^\s\0]+|(?:tcp|https):\/\/[^\s\0/@-][^\s\0/@]*:\d{1,5}|ssh:\/\/[^\s\0/-][^\s\0]*)$/)
    .register(notes, { expects: 'unix:///path, tcp://host:port, https://host:port or ssh://user@host[:port][/path]' })
    .optional()
    .describe('Where the engine listens; unset looks in the usual places.'),
  docker_cert_path: z
    .string()
    .regex(/^\/[^\0]*$/)
    .register(notes, { expects: 'an absolute path' })
    .optional()
    .describe('Directory with the `ca.pem`, `cert.pem` and `key.pem` of an engine that is reached with TLS; `tcp://` then means TLS, too.'),
  docker_extra_args: listOf(extraArgument(), 'arguments')
    .default([])
    .describe('Further arguments for the engine when it creates the container. Variables belong in `terminal.docker_env`.'),
});

markRestart(dockerOptions, 'docker_runtime', 'docker_host', 'docker_cert_path', 'docker_extra_args');

export type DockerOptions = z.output<typeof dockerOptions>;

/** Security: a variable here would put its value into a process list. */
function extraArgument() {
  return text()
    .regex(/^(?!-e|--env\b)/)
    .register(notes, { expects: 'an argument other than -e, --env and --env-file', quiet: true });
}
