import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backendOf, contextIn } from '../backends.ts';
import { describeUnless } from '../required.ts';

const kind = 'bubblewrap';
const directory = mkdtempSync(join(tmpdir(), 'hermetic-check-'));
const check = await backendOf(kind, contextIn(directory)).check();
rmSync(directory, { recursive: true, force: true });

/** Why sessions cannot be contained on this machine. */
const obstacle = check.usable ? undefined : `${check.reason} ${check.fix}`;

/** Tests that need a sandbox; skipped with the reason where none can be made, unless HERMETIC_TEST_REQUIRE names it. */
export function describeContained(title: string, body: () => void | Promise<void>): void {
  describeUnless(obstacle, [kind], title, body);
}
