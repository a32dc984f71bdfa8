import type { Proof, ProofLine } from '../core/proof.ts';
import type { Backend, Isolation, Sandbox, SandboxSpec } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import { type Bait, listenAt, startWitness, token } from './bait.ts';
import { canaryDirectories, plantCanary, sweepCanaries } from './canary.ts';
import { checkCluster } from './cluster.ts';
import { checkEgress } from './egress.ts';
import { checkHermeticHome, checkHostFile, checkShadow, checkTemporaryFiles } from './files.ts';
import { type Ground, line, type Promises, promisesOf } from './ground.ts';
import { viewFromHost } from './host-view.ts';
import { Inside } from './inside.ts';
import { checkLimits } from './limits.ts';
import { checkDevices, checkKernelFiles, checkReadOnlyMounts, checkRunDirectory, checkWritableMounts } from './mounts.ts';
import { checkEngineSockets, checkHostNetwork, checkLoopback, checkMetadata } from './network.ts';
import { checkCapabilities, checkNamespaces, checkNewPrivileges, checkSeccomp, checkUser, checkUserNamespaces } from './privileges.ts';
import { checkProcesses } from './processes.ts';
import { checkSecrets } from './secrets.ts';
import { checkSiblingFiles, checkSiblingPorts, type Sibling } from './sibling.ts';

export interface ProofOptions {
  /** Open. The session it belongs to stays as it is. */
  sandbox: Sandbox;
  /** The spec it was opened with. */
  spec: SandboxSpec;
  backend: Pick<Backend, 'kind' | 'traits'>;
  sibling?: Sibling | undefined;
  hermeticHome: string;
  /** Values of secrets, which must not be inside. Default: none. */
  secretValues?: readonly string[] | undefined;
  /** Where this machine has sockets of container engines, besides the usual places. */
  engineSockets: readonly string[];
  /** Addresses that mean this machine inside the sandbox alone, such as the gateway of a network in user space. */
  hostAliases?: readonly string[] | undefined;
  /** For all of it. */
  timeoutMs?: number | undefined;
}

const defaultTimeoutMs = 30_000;

/**
 * Tries from inside what must not be possible, and looks from outside whether it was. Takes about half a second. Contacts no address that is
 * not this machine's own or the sibling's, and leaves nothing behind on either side.
 */
export async function prove(options: ProofOptions): Promise<Proof> {
  const { isolation } = options.backend.traits;
  if (isolation === 'none') {
    const happened = `${options.backend.kind} is not contained: commands run on the host itself, as the user that runs Hermetic.`;
    return proofOf([line('isolation', 'Nothing: there is no isolation to test.', 'broken', happened)]);
  }
  await sweepCanaries(options.hermeticHome);
  const baits: Bait[] = [];
  try {
    return proofOf(await proveIsolated(options, isolation, baits));
  } finally {
    await Promise.allSettled(baits.map((bait) => bait.remove()));
  }
}

function proofOf(lines: readonly ProofLine[]): Proof {
  return { provenAt: new Date(), held: lines.every(({ verdict }) => verdict !== 'broken'), lines };
}

async function proveIsolated(options: ProofOptions, isolation: Exclude<Isolation, 'none'>, baits: Bait[]): Promise<ProofLine[]> {
  const {
    sandbox,
    spec,
    backend,
    sibling,
    hermeticHome,
    engineSockets,
    hostAliases = [],
    secretValues = [],
    timeoutMs = defaultTimeoutMs,
  } = options;
  const lay = async <T extends Bait | undefined>(bait: Promise<T>): Promise<T | Error> => {
    const laid = await bait.catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    if (laid && !(laid instanceof Error)) baits.push(laid);
    return laid;
  };
  const listen = async (address: string) => {
    const listener = await lay(listenAt(address));
    return listener instanceof Error ? undefined : listener;
  };
  const [temporary, home] = canaryDirectories(hermeticHome);
  const [inTemp, inHome, witness, loopback, loopback6, everywhere] = await Promise.all([
    lay(plantCanary(temporary)),
    lay(plantCanary(home)),
    lay(startWitness()),
    listen('127.0.0.1'),
    listen('::1'),
    listen('0.0.0.0'),
  ]);
  const mark = `hermetic-proof-${token()}`;
  const inside = await Inside.start(sandbox, mark, timeoutMs);
  try {
    const isNetworkOpen = (spec.network ?? (backend.traits.honours['network-open'] === true ? 'open' : 'none')) === 'open';
    const host = inside.failure === undefined ? await viewFromHost(mark) : undefined;
    const ground: Ground = { inside, host, spec, isNetworkOpen };
    const listeners = { loopback, loopback6, everywhere };
    const lines = await Promise.all([
      checkHostFile(ground, inTemp),
      checkHermeticHome(ground, inHome),
      checkTemporaryFiles(ground),
      checkShadow(ground),
      checkProcesses(ground, witness),
      checkLoopback(ground, listeners),
      checkHostNetwork(ground, listeners, hostAliases),
      checkEngineSockets(ground, engineSockets),
      checkMetadata(ground),
      checkCluster(ground),
      spec.network === 'restricted' ? checkEgress(ground, listeners) : [],
      checkSecrets(ground, secretValues),
      siblingWithin(timeoutMs, 'sibling-files', checkSiblingFiles(ground, sibling)),
      siblingWithin(timeoutMs, 'sibling-ports', checkSiblingPorts(ground, sibling)),
      checkReadOnlyMounts(ground),
      checkRunDirectory(ground),
      checkLimits(ground),
      // A machine of its own may do with its own kernel what it likes.
      isolation === 'machine' ? [] : checkKernel(ground, promisesOf(isolation, backend.traits)),
    ]);
    await inside.end();
    const judged = backend.traits.disposable ? lines.flat() : lines.flat().map(onSharedMachine);
    return [probeLine(ground), ...judged.map((each) => (inside.failure === undefined ? each : withdrawn(each)))];
  } finally {
    await inside.end();
  }
}

/** Checks the separation of sandboxes that share a kernel. */
async function checkKernel(ground: Ground, promises: Promises): Promise<ProofLine[]> {
  return await Promise.all([
    checkNamespaces(ground, promises),
    checkUser(ground, promises),
    checkCapabilities(ground, promises),
    checkNewPrivileges(ground),
    checkSeccomp(ground),
    checkUserNamespaces(ground, promises),
    checkWritableMounts(ground, promises),
    checkKernelFiles(ground),
    checkDevices(ground),
  ]);
}

/** A sibling that hangs does not break the proof of this sandbox. */
async function siblingWithin(timeoutMs: number, check: string, answer: Promise<ProofLine>): Promise<ProofLine> {
  const late = line(check, 'Reach another sandbox.', 'unknown', `The other sandbox did nothing for ${timeoutMs / 1000} s.`);
  return await within({ ms: timeoutMs, ref: false }, answer, () => late);
}

/** Promised only by sandboxes that are not all on one machine, which has its own sockets. Those of this host are told by the other checks. */
const ofOwnMachine: readonly string[] = ['sibling-files', 'sibling-ports', 'engine-socket'];

/** Of a backend whose sandboxes are not disposable: they share a machine, which is what was configured. */
function onSharedMachine({ check, tried, verdict, happened }: ProofLine): ProofLine {
  if (verdict !== 'broken' || !ofOwnMachine.includes(check)) return { check, tried, verdict, happened };
  return line(check, tried, 'open', `${happened} Sandboxes of this backend share one machine.`);
}

/** Of a probe that failed half way nothing good it said can be relied on. */
function withdrawn({ check, tried, verdict, happened }: ProofLine): ProofLine {
  return verdict === 'held'
    ? line(check, tried, 'unknown', `The probe failed. Before that: ${happened}`)
    : { check, tried, verdict, happened };
}

function probeLine({ inside, host }: Ground): ProofLine {
  const tried = 'Run the probe inside, and find its process from outside.';
  if (inside.failure !== undefined) return line('probe', tried, 'broken', `The probe ${inside.failure}.`);
  if (host) return line('probe', tried, 'held', `It answered everything; to this machine it is process ${host.probe.pid}.`);
  const happened = 'It answered everything, but this machine does not see its process: the rest is what the sandbox tells of itself.';
  return line('probe', tried, 'unknown', happened);
}
