import { lstat } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { presentEngineSockets, usualEngineSockets } from '../backends/engine-sockets.ts';
import type { ProofLine } from '../core/proof.ts';
import { type Listener, noticed, token } from './bait.ts';
import { type Ground, line, unanswered } from './ground.ts';
import { seenInside } from './host-view.ts';
import type { Answer } from './inside.ts';
import { metadataAddresses, metadataRoutes, parseRoutes, type Routes, reaches } from './routes.ts';

const maxAddresses = 4;

export interface Listeners {
  loopback: Listener | undefined;
  loopback6: Listener | undefined;
  /** Bound to all addresses, as a careless service would be. */
  everywhere: Listener | undefined;
}

interface Attempt {
  address: string;
  arrived: boolean;
  answer: Answer | undefined;
}

/** The host is the judge of whether a connection arrived. */
async function tryListener(ground: Ground, listener: Listener, address: string): Promise<Attempt> {
  const word = token();
  const answer = await ground.inside.ask('connect', address, String(listener.port), word);
  const arrived = answer?.outcome === 'connected' ? await noticed(() => listener.heard(word)) : listener.heard(word);
  return { address, arrived, answer };
}

const wasTried = ({ answer }: Attempt): boolean =>
  ['refused', 'unreachable', 'silent'].includes(answer?.outcome ?? '') || isWithoutFamily(answer);

/** A sandbox without IPv6 cannot even ask. */
function isWithoutFamily(answer: Answer | undefined): boolean {
  return answer?.outcome === 'failed' && /address family|cannot assign/i.test(answer.detail);
}

export async function checkLoopback(ground: Ground, { loopback, loopback6 }: Listeners): Promise<ProofLine> {
  const tried = 'Connect to a port on which the host listens for itself alone.';
  const check = 'host-loopback';
  if (!loopback) return line(check, tried, 'unknown', 'The host could not listen on 127.0.0.1.');
  const attempts = await Promise.all([
    tryListener(ground, loopback, '127.0.0.1'),
    ...(loopback6 ? [tryListener(ground, loopback6, '::1')] : []),
  ]);
  const arrived = attempts.filter((attempt) => attempt.arrived);
  if (arrived.length > 0) return line(check, tried, 'broken', `The host got a connection to ${listOf(arrived)}.`);
  if (!attempts.every(wasTried)) return explain(check, tried, attempts);
  return line(check, tried, 'held', `The host got no connection to ${listOf(attempts)}.`);
}

/**
 * Security: only this machine's own end of the sandbox's network is ever contacted, and only from a sandbox that is known to be on it. Its other
 * addresses are looked up in the routes.
 */
export async function checkHostNetwork(ground: Ground, listeners: Listeners, aliases: readonly string[]): Promise<ProofLine> {
  const tried = 'Connect to a port on which the host listens on all its addresses.';
  const check = 'host-network';
  const { everywhere, loopback } = listeners;
  const routes = ground.host?.init.routes;
  if (!routes) return line(check, tried, 'unknown', 'Which addresses inside are those of this machine cannot be seen from here.');
  if (!everywhere || !loopback) return line(check, tried, 'unknown', 'The host could not listen.');
  const { near, far } = ownAddresses(routes);
  const addresses = [...aliases, ...near].slice(0, maxAddresses);
  if (addresses.length === 0 && far.length === 0)
    return line(check, tried, 'held', 'No route inside leads to any address of this machine.');
  const [open, closed] = await Promise.all([
    Promise.all(addresses.map((address) => tryListener(ground, everywhere, address))),
    Promise.all(addresses.map((address) => tryListener(ground, loopback, address))),
  ]);
  const through = closed.filter((attempt) => attempt.arrived);
  if (through.length > 0) return line(check, tried, 'broken', `Even a port of 127.0.0.1 was reached, through ${listOf(through)}.`);
  const arrived = open.filter((attempt) => attempt.arrived);
  if (arrived.length > 0) {
    const happened = `The host got connections to ${listOf(arrived)}: services that listen on all addresses can be reached.`;
    return line(check, tried, ground.isNetworkOpen ? 'open' : 'broken', happened);
  }
  if (far.length > 0) {
    const happened = `A route leads to ${far.join(' and ')}, which was not contacted: services that listen on all addresses can be reached.`;
    return line(check, tried, ground.isNetworkOpen ? 'open' : 'broken', happened);
  }
  if (![...open, ...closed].every(wasTried)) return explain(check, tried, [...open, ...closed]);
  return line(check, tried, 'held', `The host got no connection to ${listOf(open)}.`);
}

/**
 * Addresses of this machine that a route inside leads to: its end of the sandbox's own network, and the others. An address that means something on
 * one link alone is no address of this machine on the sandbox's link.
 */
export function ownAddresses(routes: Routes, interfaces = networkInterfaces()): { near: string[]; far: string[] } {
  const gateways = new Set(routes.v4.map(({ gateway }) => gateway));
  const reached = Object.values(interfaces)
    .flatMap((all) => all ?? [])
    .filter(({ internal, address, scopeid }) => !internal && !scopeid && reaches(routes, address))
    .map(({ address }) => address);
  return { near: reached.filter((address) => gateways.has(address)), far: reached.filter((address) => !gateways.has(address)) };
}

function listOf(attempts: readonly Attempt[]): string {
  return [...new Set(attempts.map(({ address }) => address))].join(' and ');
}

function explain(check: string, tried: string, attempts: readonly Attempt[]): ProofLine {
  const answered = attempts.filter(({ answer }) => answer?.outcome === 'connected');
  if (answered.length > 0) return line(check, tried, 'unknown', `Something answered at ${listOf(answered)}, and it was not the host.`);
  const failed = attempts.find(({ answer }) => answer?.outcome === 'failed');
  if (!failed) return unanswered(check, tried);
  return line(check, tried, 'unknown', `The probe could not try: ${failed.answer?.detail || 'no reason given'}.`);
}

/** Looked up in the routes; nothing is sent. */
export function checkMetadata(ground: Ground): ProofLine {
  const tried = `Find a route to the metadata service of a cloud (${metadataAddresses.join(', ')}); it was not contacted.`;
  const check = 'cloud-metadata';
  const told = ground.inside.facts.get('route');
  const routes = ground.host?.init.routes ?? (told && parseRoutes(told, ground.inside.facts.get('route6') ?? []));
  if (!routes) return unanswered(check, tried);
  const found = metadataRoutes(routes);
  if (found.length === 0) return line(check, tried, 'held', 'No route leads there.');
  return line(check, tried, ground.isNetworkOpen ? 'open' : 'broken', `A route leads to ${found.join(' and ')}.`);
}

export async function checkEngineSockets(ground: Ground, sockets: readonly string[]): Promise<ProofLine> {
  const tried = 'Find the socket of a container engine.';
  const check = 'engine-socket';
  const paths = [...new Set([...sockets, ...usualEngineSockets, ...(await presentEngineSockets(sockets))])];
  const found = await Promise.all(
    paths.map(async (path) => {
      const isHere = await lstat(path).catch(() => undefined);
      const [answer, places] = await Promise.all([ground.inside.ask('socket', path), isHere ? seenInside(ground.host, path) : undefined]);
      return { path, answer, places: places ?? [] };
    }),
  );
  const shown = found.flatMap(({ path, answer, places }) => [...places, ...(answer?.outcome === 'present' ? [path] : [])]);
  if (shown.length > 0) return line(check, tried, 'broken', `It is there: ${[...new Set(shown)].join(', ')}.`);
  if (found.some(({ answer }) => answer?.outcome !== 'absent')) return unanswered(check, tried);
  return line(check, tried, 'held', `None of ${paths.length} usual places has one.`);
}
