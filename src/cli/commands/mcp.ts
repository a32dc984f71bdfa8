import { randomBytes, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import type { App } from '../../app/app.ts';
import { isContained, SessionPeers } from '../../app/session-peers.ts';
import { ToolSession } from '../../app/tool-session.ts';
import type { BackgroundEvent } from '../../core/background.ts';
import type { Network } from '../../core/sandbox.ts';
import type { BackgroundFeed } from '../../mcp/background-feed.ts';
import type { McpOptions } from '../../mcp/server.ts';
import { cliSession } from '../../sandboxes/request.ts';
import { type CliIo, commandOn } from '../io.ts';
import { listenerOn, sessionName, tracedAppOf } from '../session-options.ts';
import { interruptSignal } from '../streams.ts';
import { version } from '../version.ts';

interface McpCommandOptions {
  session?: string;
  backend?: string;
  image?: string;
  http?: number;
}

/** Security: by its path, because what npx would fetch by its name from elsewhere is not ours. */
const program = fileURLToPath(new URL('../../../bin/hermetic.mjs', import.meta.url));

const explanation = `
Serves terminal, process, execute_code, read_file, write_file, edit_file and search_files to any agent that speaks the Model Context
Protocol. Over standard input and output every connection has its own session, which is removed with all its files when the
connection ends, unless --session names one. Over HTTP all clients with the token share one session.

Approval is asked through the client if it supports elicitation, and refused otherwise. A sandbox without writable host
directories needs no approvals.

Example, for a client's configuration:
  { "mcpServers": { "hermetic": { "command": "node", "args": [${JSON.stringify(program)}, "mcp", "--session", "work"] } } }`;

export function mcpCommand(io: CliIo): Command {
  return commandOn(io, 'mcp')
    .description('serve the tools to your own agent over the Model Context Protocol')
    .option(
      '--session <name>',
      'the session whose sandbox, files and shell state to use (default: a new one for every connection)',
      sessionName,
    )
    .option('--backend <name>', 'overrides terminal.backend')
    .option('--image <image>', "overrides the backend's configured image")
    .option(
      '--http <port>',
      'streamable HTTP on 127.0.0.1 instead; the token is HERMETIC_MCP_TOKEN, or a generated one that is printed',
      port,
    )
    .addHelpText('after', explanation)
    .action(async (options: McpCommandOptions) => await serve(io, options));
}

async function serve(io: CliIo, { session, http, ...choice }: McpCommandOptions): Promise<void> {
  const app = tracedAppOf(io);
  // A wrong name is refused at the start, not at the agent's first call.
  app.candidates(choice.backend ?? app.settings('cli').backend);
  const interrupt = interruptSignal(io);
  // Only a connection that cannot be resumed removes its files when it ends.
  const isEphemeral = session === undefined && http === undefined;
  const name = session ?? (isEphemeral ? `mcp ${randomUUID()}` : 'mcp');
  const { BackgroundFeed } = await import('../../mcp/background-feed.ts');
  const feed = new BackgroundFeed();
  const background = (event: BackgroundEvent): void => feed.hear(event);
  const tools = new ToolSession(app, { ...cliSession(name), ...choice, isEphemeral }, { listener: listenerOn(io), background });
  try {
    const options = await serverOptions(app, tools, feed);
    if (http === undefined) await onStreams(io, options, interrupt.signal);
    else await onPort(io, options, { wanted: http, peers: peersOf(app, choice.backend) }, interrupt.signal);
  } finally {
    await tools.close({ destroy: isEphemeral });
    await app.close();
    interrupt.stop();
  }
}

async function serverOptions(app: App, { toolbox }: ToolSession, feed: BackgroundFeed): Promise<McpOptions> {
  const { PendingCalls } = await import('../../mcp/pending-calls.ts');
  const { network } = app.loaded.config.terminal;
  return {
    version: version(),
    instructions:
      'Commands, scripts and file tools work in a sandbox of this session: a Linux machine of its own in which the directory, variables and ' +
      `files carry over from call to call.${networkSentence(network)} Use execute_code for many calls at once.`,
    served: {
      tools: [...toolbox.tools.values()],
      call: (name, input, { approver, ...rest }) =>
        toolbox.call(name, input, { ...rest, origin: { source: 'mcp', role: 'admin', approver } }),
    },
    pending: new PendingCalls(),
    feed,
  };
}

function networkSentence(network: Network | undefined): string {
  if (network === 'none') return ' It has no network.';
  return network === 'restricted' ? ' Its network reaches only hosts that its owner allows.' : '';
}

async function onStreams(io: CliIo, options: McpOptions, signal: AbortSignal): Promise<void> {
  const [{ serveStdio }, { mcpServer }] = await Promise.all([import('../../mcp/stdio.ts'), import('../../mcp/server.ts')]);
  const lasting = (served: McpOptions) => {
    const server = mcpServer(served);
    served.feed.attach(server);
    return server;
  };
  await serveStdio(io.stdin as Readable, io.stdout as Writable, () => lasting(options), signal);
}

function peersOf(app: App, backend = app.settings('cli').backend): SessionPeers {
  return new SessionPeers({ home: app.loaded.home, isContained: () => isContained(app, backend) });
}

interface Port {
  wanted: number;
  peers: SessionPeers;
}

async function onPort(io: CliIo, options: McpOptions, { wanted, peers }: Port, signal: AbortSignal): Promise<void> {
  const [{ serveHttp }, { mcpServer }] = await Promise.all([import('../../mcp/http.ts'), import('../../mcp/server.ts')]);
  const given = io.environment.HERMETIC_MCP_TOKEN;
  const token = given || randomBytes(32).toString('base64url');
  const refusalOf = (socket: Socket): Promise<string | undefined> => peers.refusalOfConnection('The use of these tools', socket);
  const served = await serveHttp({ port: wanted, token, makeServer: () => mcpServer(options), refusalOf });
  io.stderr.write(`hermetic: serving at ${served.url}\n`);
  if (!given) io.stderr.write(`hermetic: authorization: Bearer ${token}\n`);
  const over = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  await over.promise;
  await served.close();
}

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return value;
}
