/**
 * The process of a world, or the one that holds the namespace of its gateway. Started by `world.ts` in a network namespace of its own; obeys
 * orders, and ends when the test is gone.
 */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { acceptWebSocket, apiSite } from './api-site.ts';
import { Authority } from './authority.ts';
import { echoSite } from './echo-site.ts';
import { GitHost } from './git-host.ts';
import { guarded } from './guarded.ts';
import { joinPlaces } from './join.ts';
import { NameServer } from './name-server.ts';
import { type AnswerMessage, Arrivals, type Order, type OrderMessage } from './records.ts';
import {
  crateRegistry,
  debianArchive,
  goProxy,
  npmRegistry,
  privateCrateRegistry,
  pythonFiles,
  pythonIndex,
  type Site,
} from './registries.ts';

/** Given as JSON on the command line. */
export type Task =
  | { role: 'world'; directory: string; address: string; nameServer: string; echoPorts: readonly number[] }
  | { role: 'gateway'; baitPorts: readonly number[]; abstractSocket: string };

const task = JSON.parse(process.argv[2] ?? '') as Task;
const arrivals = new Arrivals();
process.on('disconnect', () => process.exit(0));
// The interfaces are set up by the test, which then sends its first order.
process.on('message', ({ id, order }: OrderMessage) => {
  void obey(order).then((answer) => process.send?.({ id, answer } satisfies AnswerMessage));
});
const names = task.role === 'world' ? new NameServer(arrivals, task.address) : undefined;

async function obey(order: Order): Promise<unknown> {
  switch (order.order) {
    case 'listen':
      return task.role === 'world' ? await serveWorld(task) : await serveBaits(task);
    case 'take-arrivals':
      return arrivals.take();
    case 'count-packets':
      return receivedPackets();
    case 'lead-port':
      return void (await joinPlaces({ port: order.port, host: '127.0.0.1' }, { path: order.path }));
    case 'answer-name':
      return names?.answerName(order.name, order.answers);
  }
}

async function serveWorld({ directory, nameServer, echoPorts }: Extract<Task, { role: 'world' }>): Promise<void> {
  const authority = new Authority(directory);
  const git = new GitHost(directory);
  const crates = crateRegistry(directory);
  const sites: Readonly<Record<string, Site>> = {
    'registry.npmjs.org': npmRegistry(directory),
    'pypi.org': pythonIndex('files.pythonhosted.org'),
    'files.pythonhosted.org': pythonFiles(directory),
    'deb.debian.org': debianArchive(directory),
    'index.crates.io': crates.index,
    'static.crates.io': crates.files,
    'proxy.golang.org': goProxy(join(directory, 'go')),
    'github.com': git.site,
    // These want the token of their name.
    'git.test': guarded(git.site, 'GIT_TOKEN'),
    'npm.test': guarded(npmRegistry(join(directory, 'private-npm')), 'NPM_TOKEN'),
    'pypi.test': guarded(pythonIndex('pypi.test', join(directory, 'private-pip')), 'PYPI_TOKEN'),
    'deb.test': guarded(debianArchive(join(directory, 'private-deb')), 'DEB_TOKEN'),
    'go.test': guarded(goProxy(join(directory, 'private-go')), 'GO_TOKEN'),
    'crates.test': guarded(privateCrateRegistry(join(directory, 'private-crates'), 'crates.test'), 'CARGO_REGISTRIES_WORLD_TOKEN'),
    'api.test': apiSite,
  };
  const note = (request: IncomingMessage): string => {
    const { host = '' } = request.headers;
    const headers = request.headers as Record<string, string>;
    arrivals.add({
      ...{ kind: 'request', port: request.socket.localPort ?? 0, host, headers },
      ...{ method: request.method ?? '', url: request.url ?? '' },
    });
    return host;
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const host = note(request);
    const site = sites[host.replace(/:\d+$/, '')] ?? echoSite;
    site(request, response, new URL(request.url ?? '/', 'http://world').pathname);
  };
  const tls: ServerOptions = {
    SNICallback: (name, done) => done(null, authority.contextFor(name)),
    // For clients that name no host.
    ...authority.sign('no-name.test'),
  };
  await names?.listen(nameServer);
  await listen(createServer(serve), 80);
  for (const port of [443, 8443]) {
    const server = createHttpsServer(tls, serve);
    server.on('upgrade', (request, socket) => {
      note(request);
      acceptWebSocket(request, socket);
    });
    await listen(noteTlsNames(server, port), port);
  }
  await listen(
    createTcpServer((socket) => git.acceptSsh(socket)),
    22,
  );
  for (const port of echoPorts) await listen(createTcpServer(echo), port);
}

function noteTlsNames<S extends Server>(server: S, port: number): S {
  server.on('secureConnection', (socket: Socket & { servername?: string | false }) =>
    arrivals.add({ kind: 'tls-name', port, name: socket.servername || '' }),
  );
  return server;
}

function echo(socket: Socket): void {
  socket.on('data', (data) => {
    arrivals.add({ kind: 'bytes', port: socket.localPort ?? 0, text: data.toString('latin1', 0, 200) });
    socket.write(data);
  });
}

/** Listens where no sandbox may arrive: on every address of the gateway, for TCP and UDP, and on an abstract socket of its namespace. */
async function serveBaits({ baitPorts, abstractSocket }: Extract<Task, { role: 'gateway' }>): Promise<void> {
  for (const port of baitPorts) {
    await listen(createTcpServer(echo), port);
    const socket = createSocket({ type: 'udp6' });
    socket.on('message', (data) => arrivals.add({ kind: 'datagram', port, text: data.toString('latin1', 0, 200) }));
    socket.bind(port, '::');
    await once(socket, 'listening');
  }
  const server = createTcpServer(() => arrivals.add({ kind: 'connection', port: 0, address: abstractSocket }));
  server.listen(`\0${abstractSocket}`);
  await once(server, 'listening');
}

async function listen(server: Server, port: number): Promise<void> {
  server.on('connection', (socket: Socket) => {
    arrivals.add({ kind: 'connection', port, address: (socket.localAddress ?? '').replace('::ffff:', '') });
    socket.on('error', () => undefined);
  });
  server.listen(port, '::');
  await once(server, 'listening');
}

/** Goes up with every packet of IPv4, and every one of TCP or UDP over IPv6: the kernel itself sends others there. */
function receivedPackets(): number {
  const counters = readFileSync('/proc/self/net/snmp', 'utf8').split('\n');
  const count = (protocol: string, counter: string): number => {
    const [names = [], values = []] = counters.filter((line) => line.startsWith(`${protocol}: `)).map((line) => line.split(' '));
    return Number(values[names.indexOf(counter)]);
  };
  const udp6 = readFileSync('/proc/self/net/snmp6', 'utf8').matchAll(/^Udp6(?:InDatagrams|NoPorts)\s+(\d+)$/gm);
  return count('Ip', 'InReceives') + count('Tcp', 'InSegs') + [...udp6].reduce((sum, [, value]) => sum + Number(value), 0);
}
