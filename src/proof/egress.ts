import { networkInterfaces } from 'node:os';
import type { ProofLine } from '../core/proof.ts';
import { proxyPort, restrictedResolver } from '../egress/environment.ts';
import { type Listener, noticed, token } from './bait.ts';
import { type Ground, line, unanswered } from './ground.ts';
import type { Answer } from './inside.ts';
import type { Listeners } from './network.ts';
import { metadataAddresses, parseRoutes } from './routes.ts';

const maxOwnAddresses = 4;
const noProxy = 'The proxy inside does not answer, so nothing could be tried: programs inside reach no host at all.';

interface Request {
  /** `host:port`. */
  destination: string;
  /** Security: this machine is the judge of whether a connection arrived. */
  bait?: Listener | undefined;
}

interface Outcome {
  destination: string;
  arrived: boolean;
  answer: Answer | undefined;
}

/** The only way out of a restricted network, and what must not be possible through it. */
export async function checkEgress(ground: Ground, listeners: Listeners): Promise<ProofLine[]> {
  return await Promise.all([
    checkRoutes(ground),
    checkProxy(ground, 'proxy-unlisted', 'Reach a host that no rule lists through the proxy.', [
      { destination: `hermetic-proof-${token()}.invalid:443` },
    ]),
    checkProxy(ground, 'proxy-host', 'Reach a port on which the host listens through the proxy.', requestsFor(listeners)),
    checkProxy(
      ground,
      'proxy-metadata',
      'Reach the metadata service of a cloud through the proxy, which must refuse without contacting it.',
      metadataAddresses.map((address) => ({ destination: `${bracketed(address)}:80` })),
    ),
    checkNames(ground),
  ]);
}

/** Looked up in the routes; nothing is sent. */
function checkRoutes(ground: Ground): ProofLine {
  const tried = 'Find a route out of the sandbox.';
  const check = 'network-routes';
  const told = ground.inside.facts.get('route');
  const routes = ground.host?.init.routes ?? (told && parseRoutes(told, ground.inside.facts.get('route6') ?? []));
  if (!routes) return unanswered(check, tried);
  const count = routes.v4.length + routes.v6.length;
  if (count === 0) return line(check, tried, 'held', 'There is none: only the loopback interface is in use.');
  return line(check, tried, 'broken', `There ${count === 1 ? 'is one' : `are ${count}`}: connections need not go through the proxy.`);
}

/** A port of 127.0.0.1 under the names of this machine's loopback, and one of all addresses under its other addresses. */
function requestsFor({ loopback, loopback6, everywhere }: Listeners): Request[] {
  const own = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, scopeid, family }) => !internal && !scopeid && family === 'IPv4')
    .slice(0, maxOwnAddresses);
  const at = (host: string, bait: Listener | undefined): Request[] => (bait ? [{ destination: `${host}:${bait.port}`, bait }] : []);
  return [
    ...at('127.0.0.1', loopback),
    ...at('localhost', loopback),
    ...at('[::1]', loopback6),
    ...own.flatMap(({ address }) => at(address, everywhere)),
  ];
}

async function checkProxy(ground: Ground, check: string, tried: string, requests: readonly Request[]): Promise<ProofLine> {
  if (requests.length === 0) return line(check, tried, 'unknown', 'The host could not listen.');
  const outcomes = await Promise.all(requests.map((request) => ask(ground, request)));
  const arrived = outcomes.filter((outcome) => outcome.arrived);
  if (arrived.length > 0) return line(check, tried, 'broken', `The host got a connection to ${listOf(arrived)}.`);
  // 502 means that the proxy tried.
  const allowed = outcomes.filter(({ answer }) => answer?.outcome === 'answered' && /^2|^502/.test(answer.detail));
  if (allowed.length > 0) return line(check, tried, 'broken', `The proxy did not refuse ${listOf(allowed)}.`);
  if (outcomes.every(isRefusal)) return line(check, tried, 'held', `The proxy refused ${listOf(outcomes)}.`);
  if (outcomes.some(({ answer }) => answer?.outcome === 'refused')) return line(check, tried, 'unknown', noProxy);
  const other = outcomes.find((outcome) => !isRefusal(outcome))?.answer;
  return other
    ? line(check, tried, 'unknown', `The proxy gave another answer: ${other.detail || other.outcome}.`)
    : unanswered(check, tried);
}

async function ask(ground: Ground, { destination, bait }: Request): Promise<Outcome> {
  const word = token();
  const answer = await ground.inside.ask('tunnel', String(proxyPort), destination, word);
  const isOpen = answer?.outcome === 'answered' && answer.detail.startsWith('2');
  const arrived = bait !== undefined && (isOpen ? await noticed(() => bait.heard(word)) : bait.heard(word));
  return { destination, arrived, answer };
}

function isRefusal({ answer }: Outcome): boolean {
  return answer?.outcome === 'answered' && (answer.detail === '403' || answer.detail === '400');
}

function listOf(outcomes: readonly Outcome[]): string {
  return outcomes.map(({ destination }) => destination).join(' and ');
}

async function checkNames(ground: Ground): Promise<ProofLine> {
  const tried = 'Find the address of a host that no rule lists.';
  const check = 'name-server';
  const query = nameQuery(`hermetic-proof-${token()}.invalid`);
  const answer = await ground.inside.ask('datagram', restrictedResolver, '53', query.toString('hex'));
  if (answer?.outcome === 'silent')
    return line(check, tried, 'unknown', 'The name server inside does not answer: programs that use no proxy reach no host at all.');
  if (answer?.outcome !== 'answered') return unanswered(check, tried);
  const addresses = addressesIn(Buffer.from(answer.detail, 'hex'), query);
  if (!addresses) return line(check, tried, 'unknown', 'The name server inside gave no answer that can be read.');
  const outside = addresses.filter((address) => !isInside(address));
  if (outside.length > 0) return line(check, tried, 'broken', `The name led to ${outside.join(' and ')}.`);
  if (addresses.length === 0) return line(check, tried, 'held', 'The name has no address inside.');
  return line(check, tried, 'held', `The name led to ${addresses.join(' and ')}, an address of its own loopback interface.`);
}

/** A question for the IPv4 address of a name. Without a byte 10: see `guest/proof.bash`. */
export function nameQuery(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  return Buffer.concat([Buffer.from('485001000001000000000000', 'hex'), ...labels, Buffer.from('0000010001', 'hex')]);
}

/** The IPv4 addresses of an answer that repeats the question; undefined for anything else. */
export function addressesIn(answer: Buffer, query: Buffer): string[] | undefined {
  const isAnswer = answer.length >= query.length && answer.readUInt16BE(0) === query.readUInt16BE(0) && (answer[2] ?? 0) >= 0x80;
  if (!isAnswer || !answer.subarray(12, query.length).equals(query.subarray(12))) return undefined;
  const addresses: string[] = [];
  let at = query.length;
  for (let left = answer.readUInt16BE(6); left > 0; left--) {
    // Its name, as a pointer to the question, then type, class, lifetime, and the length of the address.
    const [record, length] = [answer.subarray(at, at + 12), answer.subarray(at + 10, at + 12)];
    if (record.length < 12 || record[0] !== 0xc0 || record.readUInt16BE(2) !== 1 || length.readUInt16BE() !== 4) return undefined;
    const address = answer.subarray(at + 12, at + 16);
    if (address.length < 4) return undefined;
    addresses.push(address.join('.'));
    at += 16;
  }
  return addresses;
}

/** 127.64.0.0/10 */
function isInside(address: string): boolean {
  const [first = 0, second = 0] = address.split('.').map(Number);
  return first === 127 && second >= 64 && second < 128;
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
