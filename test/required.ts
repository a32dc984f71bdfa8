const required: ReadonlySet<string> = new Set((process.env.HERMETIC_TEST_REQUIRE ?? '').split(','));

/** Whether a test that needs one of these may not be skipped: where it does not work, it fails. */
export function isRequired(...kinds: readonly string[]): boolean {
  return kinds.some((kind) => required.has(kind));
}
