import type { BlockedConnection, BlockReason } from './egress.ts';

/** For people and models. */
const reasons: Readonly<Record<BlockReason, string>> = {
  unlisted: 'not in network.allow',
  denied: 'in network.deny',
  'private-address': 'a private address; network.private can allow it',
  'special-address': 'a special address; never allowed',
  'own-address': "an address of the gateway's machine; never allowed",
  malformed: 'not a valid request',
  'other-tls-name': 'TLS named another host or none',
  'too-many-connections': 'too many connections at once',
  'secret-needs-tls': 'a secret is bound to it, so it takes TLS only',
  'wrong-credential': 'a credential that this host does not take',
  'unverified-certificate': 'its certificate could not be verified',
  refused: 'a person said no',
  unanswered: 'no answer from a person in time',
  'not-awaited': 'the program did not wait for the answer of a person',
  'too-many-questions': 'not in network.allow, and people have been asked often enough',
  unresolved: 'no address found',
  unreachable: 'no answer',
};

const maxNamed = 8;
const maxHostLength = 80;

/** One sentence for the person and the model; undefined when there is nothing to say. `allowed`: what people have allowed, in words. */
export function blockedSentence(connections: readonly BlockedConnection[], allowed: readonly string[] = []): string | undefined {
  if (connections.length === 0 && allowed.length === 0) return undefined;
  const blocked = connections.filter((each) => !isFailure(each)).slice(0, maxNamed);
  const failed = connections.filter(isFailure).slice(0, maxNamed - blocked.length);
  const parts = [partOf('blocked', blocked), partOf('could not reach', failed)].filter((part) => part !== '');
  const omitted = connections.length - blocked.length - failed.length;
  const failures = `${parts.join('; ')}${omitted > 0 ? ` and ${omitted} more` : ''}`;
  return `Network: ${[failures, ...allowed].filter((part) => part !== '').join('; ')}.`;
}

function isFailure({ reason }: BlockedConnection): boolean {
  return reason === 'unresolved' || reason === 'unreachable';
}

function partOf(verb: string, connections: readonly BlockedConnection[]): string {
  const texts = connections.map(
    ({ host, port, count, reason, by }) =>
      `${hostText(host)}:${port}${count > 1 ? ` ×${count}` : ''} (${by === undefined ? reasons[reason] : `denied by ${by}`})`,
  );
  return texts.length === 0 ? '' : `${verb} ${texts.join(', ')}`;
}

/** Security: a program inside chose the name. Its end says who owns it, so that is what is left of a long one. */
function hostText(host: string): string {
  const plain = host.replace(/[^0-9A-Za-z._:-]/g, '?');
  const short = plain.length > maxHostLength ? `…${plain.slice(-maxHostLength)}` : plain;
  return short.includes(':') ? `[${short}]` : short;
}
