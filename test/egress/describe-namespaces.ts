import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { isRequired } from '../required.ts';

/** Tests that need root and network namespaces; skipped where there are none, unless HERMETIC_TEST_REQUIRE names bubblewrap, which needs them too. */
export function describeNamespaces(title: string, body: () => void): void {
  const { status } = spawnSync('unshare', ['--net', 'ip', 'link'], { stdio: 'ignore' });
  if (status === 0) describe(title, body);
  else if (isRequired('bubblewrap')) it(`${title}: namespaces can be made`, () => expect.fail('unshare --net ip link failed'));
  else it.skip(`${title}: no network namespace can be made here`, () => undefined);
}
