import { type BlockReason, type Destination, destinationText } from '../core/egress.ts';

/** Why a connection is not made, with the sentence that the program inside is told. */
export interface Refusal {
  reason: BlockReason;
  sentence: string;
  /** Who said no, where a person did. */
  by?: string | undefined;
}

export function refusal(reason: BlockReason, destination: Destination, by?: string): Refusal {
  return { reason, sentence: sentences[reason](destinationText(destination)), by };
}

/** A request that names no destination, or none that can be read. */
export function malformed(sentence: string): Refusal {
  return { reason: 'malformed', sentence };
}

export function isRefusal(value: object | undefined): value is Refusal {
  return value !== undefined && 'reason' in value && 'sentence' in value;
}

/** The status of a proxy's answer. */
export function statusOf({ reason }: Refusal): 400 | 403 | 502 | 503 {
  switch (reason) {
    case 'malformed':
      return 400;
    case 'unresolved':
    case 'unreachable':
    case 'unverified-certificate':
      return 502;
    case 'too-many-connections':
      return 503;
    default:
      return 403;
  }
}

const sentences: Record<BlockReason, (to: string) => string> = {
  unlisted: (to) => `${to} is blocked: no rule of network.allow or network.presets allows it.`,
  denied: (to) => `${to} is blocked by a rule of network.deny.`,
  'private-address': (to) => `${to} is blocked: it leads to a private address. An entry of network.private would allow it.`,
  'special-address': (to) => `${to} is blocked: it leads to a special address, which sandboxes never reach.`,
  'own-address': (to) => `${to} is blocked: it leads to an address of the gateway's machine, which sandboxes never reach.`,
  malformed: (to) => `${to} is not a valid host and port.`,
  'other-tls-name': (to) => `The connection to ${to} is blocked: its TLS handshake names another host, or none.`,
  'too-many-connections': (to) => `The connection to ${to} is refused: too many connections are open.`,
  'secret-needs-tls': (to) => `The connection to ${to} is blocked: a secret is bound to that host, which takes TLS only.`,
  'wrong-credential': (to) =>
    `The request to ${to} is blocked: it carries a secret of another host, or a credential that this host does not take.`,
  'unverified-certificate': (to) => `${to} cannot be reached: its certificate could not be verified. Nothing was sent.`,
  refused: (to) => `${to} is blocked: a person was asked and said no.`,
  unanswered: (to) => `${to} is blocked: a person was asked, and no answer came in time.`,
  'not-awaited': (to) => `${to} is blocked: a person is being asked.`,
  'too-many-questions': (to) => `${to} is blocked: no rule allows it, and people have been asked often enough.`,
  unresolved: (to) => `${to} cannot be reached: its name has no address.`,
  unreachable: (to) => `${to} cannot be reached: it does not answer.`,
};
