import { type Command, InvalidArgumentError } from 'commander';
import type { App } from '../app/app.ts';
import type { OpenListener } from '../core/sandbox.ts';
import { createApp } from '../index.ts';
import type { OpenedSandbox } from '../sandboxes/open.ts';
import { cliSession } from '../sandboxes/request.ts';
import type { CliIo } from './io.ts';

export interface SessionOptions {
  session: string;
  backend?: string;
  image?: string;
}

export function withSessionOptions(command: Command): Command {
  return command
    .option('--session <name>', 'the session whose sandbox, files and shell state to use', sessionName, 'default')
    .option('--backend <name>', 'overrides terminal.backend')
    .option('--image <image>', "overrides the backend's configured image");
}

export function sessionName(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('A session needs a name.');
  return text;
}

export function appOf(io: CliIo): App {
  return createApp({ environment: io.environment });
}

/** For commands that run something: with the trace that `log.trace` asks for on stderr. */
export function tracedAppOf(io: CliIo): App {
  const app = appOf(io);
  app.traceTo(listenerOn(io).progress);
  return app;
}

/** Opens the session's sandbox and tells the person on stderr what they should know. */
export async function openSession(
  io: CliIo,
  app: App,
  { session, ...choice }: SessionOptions,
  signal: AbortSignal,
): Promise<OpenedSandbox> {
  const opened = await app.openSandbox({ ...cliSession(session), ...choice }, listenerOn(io), signal);
  if (opened.backend.traits.isolation === 'none') {
    io.stderr.write(`warning: ${opened.backend.kind} has no isolation: this runs on the host itself, as your user.\n`);
  }
  return opened;
}

export function listenerOn(io: CliIo): OpenListener {
  const write = (text: string): void => void io.stderr.write(`hermetic: ${text}\n`);
  return { notice: write, progress: write };
}
