import { spawnSync } from 'node:child_process';
import { describeUnless } from '../required.ts';

/** Tests that need root and network namespaces; skipped where there are none, unless HERMETIC_TEST_REQUIRE names bubblewrap, which needs them too. */
export function describeNamespaces(title: string, body: () => void): void {
  const { status } = spawnSync('unshare', ['--net', 'ip', 'link'], { stdio: 'ignore' });
  describeUnless(status === 0 ? undefined : 'no network namespace can be made here', ['bubblewrap'], title, body);
}
