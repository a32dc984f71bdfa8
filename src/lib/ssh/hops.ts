import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AnyAuthMethod, Client, ParsedKey } from 'ssh2';
import { errorText } from '../error-text.ts';
import { printable } from '../printable.ts';
import type { SshOptions } from './connection.ts';
import { hostKeyAlgorithms, verifyHostKey } from './host-keys.ts';
import { loadSsh2 } from './load-ssh2.ts';
import { readPrivateKey } from './private-key.ts';
import { SshError } from './ssh-error.ts';
import { type SshTarget, targetText } from './target.ts';

/** A host that has let us in. */
export interface Hop {
  target: SshTarget;
  client: Client;
  /** undefined where the hop before it carries its bytes. */
  socket: Socket | undefined;
  close(): void;
}

/** What we can show of ourselves. */
interface Identity {
  key: ParsedKey | undefined;
  /** Encrypted, without a passphrase. */
  lockedKey: string | undefined;
  agentSocket: string | undefined;
}

const noIdentity: Identity = { key: undefined, lockedKey: undefined, agentSocket: undefined };

/** Goes from host to host until the target has let us in. Leaves no connection behind when it rejects, as it does at once when the signal aborts. */
export async function openHops(options: SshOptions, signal: AbortSignal): Promise<Hop[]> {
  const identity = options.target.isToken ? noIdentity : await readIdentity(options);
  const hops: Hop[] = [];
  try {
    for (const target of [...options.jumps, options.target]) {
      const before = hops.at(-1);
      const stream = before ? await forward(before, target, signal) : await dial(target, signal);
      hops.push(await enter(stream, target, options, identity, signal));
    }
    return hops;
  } catch (error) {
    for (const hop of hops) hop.close();
    throw error;
  }
}

async function readIdentity({ keyPath, passphrase, agentSocket }: SshOptions): Promise<Identity> {
  const key = keyPath === undefined ? undefined : await readPrivateKey(keyPath, passphrase);
  const lockedKey = key === undefined ? keyPath : undefined;
  if (key === undefined && agentSocket === undefined) {
    if (lockedKey !== undefined)
      throw new SshError('key-file', `The key ${lockedKey} is encrypted.`, 'Give its passphrase, or add it to an agent with ssh-add.');
    throw new SshError('key-file', 'There is neither a key nor an agent to authenticate with.', 'Name a private key, or start ssh-agent.');
  }
  return { key, lockedKey, agentSocket };
}

function dial(target: SshTarget, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: target.host, port: target.port, noDelay: true });
  const give = (error: SshError): void => {
    socket.destroy();
    reject(error);
  };
  const late = (): void => give(silent(target, 'does not answer'));
  signal.addEventListener('abort', late, { once: true });
  if (signal.aborted) late();
  socket.once('connect', () => {
    signal.removeEventListener('abort', late);
    resolve(socket);
  });
  socket.on('error', (error) => give(unreachable(target, error)));
  return promise;
}

function forward({ client, target: from }: Hop, target: SshTarget, signal: AbortSignal): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const late = (): void => reject(silent(target, `cannot be reached from ${targetText(from)}`));
  signal.addEventListener('abort', late, { once: true });
  if (signal.aborted) late();
  client.once('close', () => reject(new SshError('lost', `The connection to ${targetText(from)} was cut.`, 'Try again.')));
  client.forwardOut('127.0.0.1', 0, target.host, target.port, (error, channel) => {
    signal.removeEventListener('abort', late);
    if (error) {
      const why = printable(errorText(error)).slice(0, 300);
      const hint = `Look whether ${targetText(from)} can reach it and allows forwarding (AllowTcpForwarding).`;
      reject(new SshError('unreachable', `${targetText(target)} cannot be reached from ${targetText(from)}: ${why}.`, hint, error));
    } else resolve(channel);
  });
  return promise;
}

/** Verifies the host and authenticates. */
async function enter(stream: Duplex, target: SshTarget, options: SshOptions, identity: Identity, signal: AbortSignal): Promise<Hop> {
  const { Client } = await loadSsh2();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const client = new Client();
  const close = (): void => {
    client.end();
    stream.destroy();
  };
  let phase = 'does not finish the handshake of ssh';
  let agentTrouble = '';
  let refusal: SshError | undefined;
  const late = (): void => reject(silent(target, phase));
  signal.addEventListener('abort', late, { once: true });
  if (signal.aborted) late();
  client.on('error', (error: Error & { level?: string }) => {
    // The next way to authenticate is tried.
    if (error.level === 'agent') agentTrouble = printable(errorText(error));
    else if (error.level === 'client-authentication') reject(notLetIn(target, identity, agentTrouble));
    else if (error.level === 'client-socket') reject(unreachable(target, error));
    else if (error.message.startsWith('Connection lost')) reject(hungUp(target, phase));
    else reject(refusal ?? noSsh(target, error));
  });
  client.on('close', () => reject(refusal ?? hungUp(target, phase)));
  client.on('handshake', () => {
    phase = 'does not answer the authentication';
  });
  client.once('ready', () => resolve());
  try {
    client.connect({
      sock: stream,
      username: target.user,
      readyTimeout: 0,
      algorithms: { serverHostKey: hostKeyAlgorithms(options.hostKeys, target) },
      hostVerifier: (key: Buffer) => {
        try {
          verifyHostKey(options.hostKeys, target, key);
          return true;
        } catch (error) {
          refusal = error instanceof SshError ? error : noSsh(target, error);
          return false;
        }
      },
      authHandler: authenticationMethods(target, identity),
    });
    await promise;
    return { target, client, socket: 'setNoDelay' in stream ? (stream as Socket) : undefined, close };
  } catch (error) {
    close();
    throw error instanceof SshError ? error : noSsh(target, error);
  } finally {
    signal.removeEventListener('abort', late);
  }
}

function authenticationMethods({ user: username, isToken }: SshTarget, { key, agentSocket }: Identity): AnyAuthMethod[] {
  if (isToken) return [{ type: 'none', username }];
  return [
    ...(key ? [{ type: 'publickey' as const, username, key }] : []),
    ...(agentSocket === undefined ? [] : [{ type: 'agent' as const, username, agent: agentSocket }]),
  ];
}

function notLetIn(target: SshTarget, { key, lockedKey, agentSocket }: Identity, agentTrouble: string): SshError {
  if (target.isToken) return tokenRefused(target);
  const shown = [key ? 'the key' : '', agentSocket === undefined ? '' : 'the keys of the agent'].filter(Boolean).join(' and ');
  const trouble = agentTrouble === '' ? '' : ` The agent: ${agentTrouble}.`;
  const locked = lockedKey === undefined ? '' : ` The key ${lockedKey} is encrypted and was not tried.`;
  const hint = `Add the public key to ~/.ssh/authorized_keys of ${target.user} on ${target.host}, or name another user or key.`;
  return new SshError('authentication', `${targetText(target)} did not accept ${shown}.${trouble}${locked}`, hint);
}

/** A gateway looks at a token when the connection is up already. */
export function tokenRefused(target: SshTarget): SshError {
  return new SshError('token', `${targetText(target)} did not accept the token.`, 'A token is good for one place and some minutes.');
}

function unreachable(target: SshTarget, error: Error): SshError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED')
    return new SshError(
      'unreachable',
      `${target.host} refuses connections to port ${target.port}.`,
      'Start sshd on it, or correct the port.',
      error,
    );
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new SshError('unreachable', `The name ${target.host} cannot be resolved.`, 'Correct the name of the host.', error);
  const hint = 'Look whether the host runs and its network can be reached from here.';
  return new SshError('unreachable', `${target.host} cannot be reached: ${errorText(error)}.`, hint, error);
}

function hungUp(target: SshTarget, phase: string): SshError {
  const hint = 'Look at the log of its sshd: it may have too many connections (MaxStartups), or not want this user.';
  return new SshError('lost', `${targetText(target)} hung up: it ${phase}.`, hint);
}

export function silent(target: SshTarget, phase: string): SshError {
  return new SshError('silent', `${targetText(target)} ${phase}.`, 'Look whether the host runs, and whether a firewall is in between.');
}

/** Security: the text may be that of the other end. */
function noSsh(target: SshTarget, error: unknown): SshError {
  const why = printable(errorText(error)).slice(0, 300);
  const hint = 'Look whether sshd listens there, and at its log.';
  return new SshError('no-ssh', `${targetText(target)} does not speak ssh as expected: ${why}.`, hint, error);
}
