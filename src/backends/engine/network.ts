import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { refusedStatus } from '../refusal.ts';
import type { CreateBody, Engine } from './engine.ts';
import { launchContainer } from './launch.ts';

/** In the words of `GET /networks`. */
interface Network {
  Id: string;
  Name: string;
  Driver: string;
  Internal: boolean;
  EnableIPv6?: boolean;
  Labels: Record<string, string> | null;
  Options: Record<string, string> | null;
}

/** Results of `ensureNetwork`, by engine and name. */
const known = new WeakMap<Engine, Map<string, Promise<void>>>();
const visibleWithinMs = 3000;

/** The network of every sandbox of this installation that has one: not the host's, and not the default bridge of the engine. */
export function networkName(installation: string): string {
  return `hermetic-${installation}`;
}

/**
 * Security: sandboxes reach the world but not each other. The engine's isolated gateway mode is not for this network: engines have it only
 * for networks without a way out. So what listens on all addresses of the host can be reached through the gateway.
 */
function optionsOf(installation: string): Record<string, string> {
  return {
    'com.docker.network.bridge.enable_icc': 'false',
    // The engine takes each name of a bridge once, even from two programs at once; of networks it would make two with one name.
    'com.docker.network.bridge.name': `hm-${createHash('sha256').update(installation).digest('hex').slice(0, 12)}`,
  };
}

/** Makes the network unless it is there. Throws when what is there under its name is not ours. */
function ensureNetwork(engine: Engine, installation: string): Promise<void> {
  const name = networkName(installation);
  const networks = known.get(engine) ?? new Map<string, Promise<void>>();
  known.set(engine, networks);
  const asked =
    networks.get(name) ??
    findOrMake(engine, installation).catch((error: unknown) => {
      networks.delete(name);
      throw error;
    });
  networks.set(name, asked);
  return asked;
}

/** The part of a container's body that tells which network it is to have. */
interface Wish {
  Labels: Record<string, string>;
  HostConfig: { NetworkMode: string };
}

/** Does nothing for a container that is not to have the network of its installation. */
export async function ensureNetworkOf(engine: Engine, { Labels, HostConfig }: Wish): Promise<void> {
  const installation = Labels['hermetic.installation'] ?? '';
  if (HostConfig.NetworkMode === networkName(installation)) await ensureNetwork(engine, installation);
}

/** `launchContainer`, on the network that the body asks for. */
export function launchOnNetwork(
  engine: Engine,
  name: string,
  body: CreateBody & Wish,
  signal: AbortSignal | undefined,
  ready: Promise<void>,
): Promise<string> {
  return withNetwork(engine, body, () => launchContainer(engine, name, body, signal, ready));
}

/** Starts a container that was made from this body. */
export function startOnNetwork(engine: Engine, id: string, body: Wish, signal: AbortSignal | undefined): Promise<void> {
  return withNetwork(engine, body, () => engine.start(id, { signal }), id);
}

/** Removes the container, and with the last one of the installation its network. */
export async function removeFromNetwork(engine: Engine, idOrName: string, installation: string): Promise<void> {
  await engine.remove(idOrName);
  await removeNetworkIfUnused(engine, installation);
}

/**
 * The network may have been removed since it was last seen. Then it is made again, and the container of this id, which knows the old one,
 * is moved to it.
 */
async function withNetwork<T>(engine: Engine, body: Wish, start: () => Promise<T>, id?: string): Promise<T> {
  await ensureNetworkOf(engine, body);
  try {
    return await start();
  } catch (error) {
    const name = body.HostConfig.NetworkMode;
    const isForgotten = known.get(engine)?.delete(name) ?? false;
    if (!isForgotten || !(error instanceof HermeticError) || !/network .*not found/i.test(error.message)) throw error;
    await ensureNetworkOf(engine, body);
    if (id !== undefined) await engine.request('POST', `/networks/${encodeURIComponent(name)}/connect`, { Container: id });
    return await start();
  }
}

/** Removes the network when no container, running or not, has it. Never one of another owner. */
export async function removeNetworkIfUnused(engine: Engine, installation: string): Promise<void> {
  const network = await find(engine, installation);
  if (!network || !isOurs(network, installation)) return;
  const filters = encodeURIComponent(JSON.stringify({ network: [network.Id] }));
  const users = await engine.request<unknown[]>('GET', `/containers/json?all=1&filters=${filters}`);
  if (users.length > 0) return;
  known.get(engine)?.delete(network.Name);
  await engine.request('DELETE', `/networks/${network.Id}`).catch((error: unknown) => {
    // 403: a container has joined it meanwhile. 404: another client was faster.
    if (![403, 404].includes(refusedStatus(error) ?? 0)) throw error;
  });
}

async function findOrMake(engine: Engine, installation: string): Promise<void> {
  const found = (await find(engine, installation)) ?? (await make(engine, installation));
  if (isOurs(found, installation)) return;
  throw new HermeticError('sandbox/open-failed', `The engine has a network ${found.Name} that is not as Hermetic makes it.`, {
    hint: `If nothing of yours needs it: ${engine.product.kind} network rm ${found.Name}. Or set terminal.network to none.`,
  });
}

function isOurs({ Driver, Internal, EnableIPv6, Labels, Options }: Network, installation: string): boolean {
  const options = Options ?? {};
  return (
    Driver === 'bridge' &&
    !Internal &&
    EnableIPv6 !== true &&
    Labels?.['hermetic.installation'] === installation &&
    Object.entries(optionsOf(installation)).every(([option, value]) => options[option] === value) &&
    // Security: other modes let the world in. An engine may write down the ordinary one.
    Object.entries(options).every(([option, value]) => !option.includes('gateway_mode') || value === 'nat')
  );
}

async function find(engine: Engine, installation: string): Promise<Network | undefined> {
  const name = networkName(installation);
  // The engine also finds names that only contain this one.
  const filters = encodeURIComponent(JSON.stringify({ name: [name] }));
  const found = await engine.request<Network[]>('GET', `/networks?filters=${filters}`);
  return found.find((network) => network.Name === name);
}

async function make(engine: Engine, installation: string): Promise<Network> {
  const body = {
    Name: networkName(installation),
    CheckDuplicate: true,
    Driver: 'bridge',
    // Security: said, because an engine may have another default, and not every engine keeps sandboxes apart over IPv6.
    EnableIPv6: false,
    Labels: { 'hermetic.installation': installation },
    Options: optionsOf(installation),
  };
  const refusal = await engine.request('POST', '/networks/create', body).then(
    () => undefined,
    (error: unknown) => error,
  );
  // Another program may be making it at this moment, and is refused nothing.
  for (const deadline = Date.now() + visibleWithinMs; ; await delay(50)) {
    const found = await find(engine, installation);
    if (found) return found;
    if (refusal === undefined || !isTaken(refusal) || Date.now() > deadline) throw explain(refusal);
  }
}

function isTaken(refusal: unknown): boolean {
  return refusedStatus(refusal) !== undefined && /already exists|same bridge name|conflicts with network/i.test(errorText(refusal));
}

function explain(refusal: unknown): unknown {
  const message = refusal instanceof Error ? refusal.message : 'It has made a network and does not show it.';
  if (refusal !== undefined && refusedStatus(refusal) === undefined) return refusal;
  const hint = /inter-container communication|br_netfilter/i.test(message)
    ? 'The kernel of the engine needs the module br_netfilter (modprobe br_netfilter). Or set terminal.network to none.'
    : /address pool/i.test(message)
      ? 'The engine has no address ranges left; `network prune` frees the unused ones.'
      : 'Set terminal.network to none to do without a network.';
  return new HermeticError('sandbox/open-failed', `The engine could not make the network of the sandboxes. ${message}`, {
    hint,
    cause: refusal,
  });
}
