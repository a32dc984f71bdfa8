import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, type TestContext } from 'vitest';
import { openNetworkObstacle } from '../src/backends/namespaces/open-network.ts';
import { restrictedNetworkObstacle } from '../src/backends/namespaces/restricted-network.ts';
import { findProgram } from '../src/backends/programs.ts';
import type { Backend } from '../src/core/sandbox.ts';
import { describeUnless, isRequired } from './required.ts';

/**
 * What tests need of the machine beside Node. Each finder says why it is not to be had here. HERMETIC_TEST_REQUIRE may
 * name each.
 */
const finders = {
  root: () => (process.getuid?.() === 0 ? undefined : 'the tests are not run by root'),
  'ordinary-user': () => (process.getuid?.() === 0 ? 'the tests are run by root, who may do everything' : undefined),
  /** One who runs the product as it is in this clone. */
  'another-user': () => lackOf('root') ?? refused('others cannot read this clone', ...asNobody, process.execPath, findProgramFile),
  /** A file system of its own in a view of its own, as only root may have outside of containers. */
  mount: () => lackOf('root') ?? refused('nothing can be mounted', 'unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'),
  /** Processes of its own, with a /proc that shows them only. */
  processes: () => lackOf('root') ?? refused('no process namespace can be made', 'unshare', '--pid', '--fork', '--mount-proc', 'true'),
  'network-namespaces': () =>
    lackOf('root') ?? missing('ip') ?? refused('no network namespace can be made', 'unshare', '--net', 'ip', 'link'),
  openssl: () => missing('openssl'),
  script: () => missing('script'),
  python3: () => missing('python3'),
  'ssh-keygen': () => missing('ssh-keygen'),
  /** A real server that tests log in to (`test/sshd.ts`). */
  sshd: () => lackOf('processes', 'ssh-keygen') ?? missing('sshd', 'setpriv'),
  /** Of bubblewrap sandboxes. */
  'restricted-network': restrictedNetworkObstacle,
  'open-network': openNetworkObstacle,
  /** Machines and pods of the fakes of providers and clusters (`test/fakes/kubernetes/node.ts`). */
  machines: () => lackOf('root') ?? missing('bwrap', 'perl', 'setpriv') ?? refused('bubblewrap does not work', ...bubblewrap),
} as const;

const asNobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
const findProgramFile = join(import.meta.dirname, '../src/backends/programs.ts');
const bubblewrap = 'bwrap --unshare-pid --unshare-ipc --unshare-uts --unshare-net --ro-bind / / --proc /proc --dev /dev -- true'.split(' ');

export type Need = keyof typeof finders;

/** A run that requires one of these backends requires what its tests need, too. */
const alsoRequiredBy: Partial<Record<Need, readonly string[]>> = {
  'network-namespaces': ['bubblewrap'],
  openssl: ['docker', 'kubernetes'],
  python3: ['local', 'bubblewrap'],
  'ssh-keygen': ['ssh'],
  sshd: ['ssh'],
  machines: ['kubernetes', 'modal', 'daytona', 'vercel'],
  'restricted-network': ['bubblewrap'],
  'open-network': ['bubblewrap'],
};

const found = new Map<Need, string | undefined>();

/** Why a test that needs all of these cannot run here; undefined where it can. Each is tried once. */
export function lackOf(...needs: readonly Need[]): string | undefined {
  const [first] = lacking(needs);
  return first && found.get(first);
}

function lacking(needs: readonly Need[]): Need[] {
  for (const need of needs) if (!found.has(need)) found.set(need, finders[need]());
  return needs.filter((need) => found.get(need) !== undefined);
}

/** Of these, what sandboxes of the backend have from this machine. An image has its own. */
export function shownBy({ traits }: Backend, ...needs: readonly Need[]): readonly Need[] {
  return traits.honours.image === true ? [] : needs;
}

/**
 * Tests that need these; skipped with the reason where the machine lacks one, unless HERMETIC_TEST_REQUIRE names it.
 */
export function describeNeeding(needs: readonly Need[], title: string, body: () => void | Promise<void>): void {
  describeUnless(lackOf(...needs), kindsOf(needs), title, body);
}

/** One test that needs these, in the same way. */
export function itNeeding(needs: readonly Need[], title: string, body: (context: TestContext) => unknown, timeoutMs?: number): void {
  const lack = lackOf(...needs);
  if (lack === undefined) it(title, body, timeoutMs);
  else if (isRequired(...kindsOf(needs))) it(title, () => expect.fail(lack));
  else it.skip(`${title}: ${lack}`, () => undefined);
}

/** Which of them is enough in HERMETIC_TEST_REQUIRE to make what is lacking a failure. */
function kindsOf(needs: readonly Need[]): string[] {
  return lacking(needs).flatMap((need) => [need, ...(alsoRequiredBy[need] ?? [])]);
}

function missing(...programs: readonly string[]): string | undefined {
  const absent = programs.filter((name) => findProgram(name) === undefined);
  return absent.length > 0 ? `${absent.join(', ')} not installed` : undefined;
}

function refused(what: string, ...[program = '', ...args]: readonly string[]): string | undefined {
  const { status, error, stderr } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  return status === 0 ? undefined : `${what} (${(error?.message ?? stderr).trim()})`;
}
