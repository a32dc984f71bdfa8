/** The guarded way out of a sandbox whose network is `restricted`: no other way leads out of its network namespace. */

/** `host` in the one spelling of `canonicalHost`. It is never resolved before it is allowed. */
export interface Destination {
  host: string;
  port: number;
}

/** As it is written in a URL and in the header Host. */
export function destinationText({ host, port }: Destination): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** One entry of `network.allow`, `network.deny` or a preset. */
export interface HostRule {
  host: string;
  /** Every name below `host`, and not `host` itself. */
  isWildcard: boolean;
  ports: readonly number[] | 'all';
  /** As it is written in the configuration. */
  text: string;
}

/** One entry of `network.private`: a host, or the addresses of a private network. */
export type PrivateRule =
  | { kind: 'host'; host: string; text: string }
  | { kind: 'network'; address: string; prefix: number; family: 'ipv4' | 'ipv6'; text: string };

/** What restricted sandboxes may reach. Plain data, for the egress thread. */
export interface EgressRules {
  allow: readonly HostRule[];
  /** Wins over `allow`. */
  deny: readonly HostRule[];
  /** Private addresses that an allowed host may lead to. */
  private: readonly PrivateRule[];
  /** Ports on which programs reach hosts by name, without the proxy. The ports that rules name are added, but not 53, 80 and that of the proxy. */
  directPorts: readonly number[];
  /** All connections that rules allow are told too. */
  notesAllowed: boolean;
  /** Undefined without secrets. */
  vault?: Vault | undefined;
}

/** Signs the certificates that sandboxes see at hosts with a secret. Known to sandboxes of this installation alone. */
export interface Authority {
  /** PEM. */
  certificate: string;
  /** PEM. Security: stays on the host. */
  key: string;
}

/** A secret whose value is put into requests on their way to its hosts. Sandboxes have the placeholder. */
export interface BoundSecret {
  name: string;
  /** Security: known to the egress thread, never to a sandbox. */
  value: string;
  placeholder: string;
  /** Exact hosts, each with its port. */
  destinations: readonly Destination[];
  /** Names of headers in lower case. */
  headers: readonly string[];
  /** Also in the query of the URL. */
  query: boolean;
  /** Also in the path of the URL. */
  path: boolean;
  /** Requests to its hosts with other credentials are refused. */
  exclusive: boolean;
}

/** TLS to the destinations of these secrets is ended by the egress thread, and nowhere else. */
export interface Vault {
  authority: Authority;
  secrets: readonly BoundSecret[];
}

/** Why a connection failed. The last three are failures of the network, not decisions. */
export type BlockReason =
  | 'unlisted'
  | 'denied'
  | 'private-address'
  | 'special-address'
  | 'own-address'
  | 'malformed'
  | 'other-tls-name'
  | 'too-many-connections'
  /** It is no TLS, and the host has a secret. */
  | 'secret-needs-tls'
  /** A request has a secret of another host, or another credential at a host that takes only its own. */
  | 'wrong-credential'
  | 'unverified-certificate'
  /** No rule allows it, and a person who was asked said no. */
  | 'refused'
  /** The same, and no answer came in time. */
  | 'unanswered'
  /** The same, and the program did not wait for the answer. */
  | 'not-awaited'
  /** The same, and people have been asked often enough. */
  | 'too-many-questions'
  | 'unresolved'
  | 'unreachable';

/** A destination that programs inside tried in vain. */
export interface BlockedConnection extends Destination {
  reason: BlockReason;
  count: number;
  /** Who said no, where a person did. */
  by?: string | undefined;
}

/** A destination that programs inside reached. */
export interface AllowedConnection extends Destination {
  count: number;
  /** Both ways, as far as its connections have ended. */
  bytes: number;
  /** The rule as it is written; undefined when an answer of a person, or a grant, allowed it. */
  rule: string | undefined;
  /** The names of the secrets that were put into its requests. */
  secrets: readonly string[];
  /** The names of the secrets whose placeholders its requests carried in plain HTTP, where no value is put in. */
  placeholders: readonly string[];
}

/** The connections of a time, by destination. */
export interface Connections {
  blocked: readonly BlockedConnection[];
  /** With `EgressRules.notesAllowed` all of them, otherwise those that no rule allows, that have a secret or that carry a placeholder. */
  allowed: readonly AllowedConnection[];
}

/** A connection that no rule allows or denies, and that waits. */
export interface ConnectionRequest extends Destination {
  /** The program that wants it, as it calls itself. A claim of the sandbox, for people to read. */
  program: string | undefined;
}

/**
 * A yes is for all connections of one command to this destination, also those of processes that it leaves running: with `until: 'command-ends'` as
 * long as they and the sandbox live, with `'revoked'` as long as the same question, asked again without a person, is answered so.
 */
export type ConnectionAnswer =
  /** `isAnswer`: a person has just said so, and no earlier grant. */
  | { allowed: true; until: 'command-ends' | 'revoked'; isAnswer?: true | undefined }
  /** `not-awaited`: a person allowed it for one time, and the next attempt has that yes. */
  | { allowed: false; reason: 'unlisted' | 'refused' | 'unanswered' | 'not-awaited' | 'too-many-questions'; by?: string | undefined };

export interface AskingOptions {
  /** Aborted when no program waits for the answer any more. The question stays, and its answer counts for the next attempt. */
  left: AbortSignal;
  /** Only whether it is still allowed: people are not asked. */
  isCheck: boolean;
  /** From now on it waits for a person. May be called again. */
  onWaiting?(): void;
}

/** Decides about a connection of one command, which may take as long as a person does. Never rejects. */
export type ConnectionAsker = (request: ConnectionRequest, options: AskingOptions) => Promise<ConnectionAnswer>;

/** A command whose connections are followed. */
export interface FollowedCommand {
  /** The number by which its processes are known inside. */
  mark: string;
  /** Without it, what no rule allows is blocked. */
  ask: ConnectionAsker | undefined;
  /** false once it has ended, also if it left processes running. */
  isRunning(): boolean;
}

/** How a helper process gets into the network namespace of a sandbox. */
export interface NamespaceEntrance {
  /** Runs the words after it in that namespace, once it can be entered. */
  command: readonly string[];
  /** The descriptor of this program that becomes its standard input. May be closed when `open` has called `onStarted`. */
  input?: number | undefined;
  /** The descriptor of this program that becomes its descriptor 3. May be closed when `open` has called `onStarted`. */
  namespace?: number | undefined;
  /** The helper was started, or could not be. */
  onStarted?(): void;
}

/** The open sockets of one sandbox. */
export interface Door {
  /** Resolves with the reason when they are closed for another cause than `close`. Never rejects. */
  readonly lost: Promise<string>;
  /**
   * From this moment on. Costs nothing until the answer is asked for, which may be never, or again and again: each answer covers all that
   * happened before it is asked for, and never rejects. Processes that the command left running are still its own.
   */
  watch(command: FollowedCommand): () => Promise<Connections>;
  /** Closes the sockets and cuts every connection. */
  close(): Promise<void>;
}

export interface Egress {
  /**
   * Opens the sockets in the namespace. Resolves when programs inside can connect; nothing is open when it rejects, with
   * `sandbox/network-taken` when a program inside has one of the ports.
   */
  open(entrance: NamespaceEntrance, signal?: AbortSignal): Promise<Door>;
}
