import { describe, expect, it } from 'vitest';

const required: ReadonlySet<string> = new Set((process.env.HERMETIC_TEST_REQUIRE ?? '').split(','));

/** Whether a test that needs one of these may not be skipped: where it does not work, it fails. */
export function isRequired(...kinds: readonly string[]): boolean {
  return kinds.some((kind) => required.has(kind));
}

/**
 * The tests, or one that is skipped with the obstacle as its reason. It fails instead where one of these kinds is
 * required.
 */
export function describeUnless(
  obstacle: string | undefined,
  kinds: readonly string[],
  title: string,
  body: () => void | Promise<void>,
): void {
  if (obstacle === undefined) describe(title, body);
  else if (isRequired(...kinds)) it(`${title}: everything works that it needs`, () => expect.fail(obstacle));
  else it.skip(`${title}: ${obstacle}`, () => undefined);
}
