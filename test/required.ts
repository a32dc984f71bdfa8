const required: ReadonlySet<string> = new Set((process.env.HERMETIC_TEST_REQUIRE ?? '').split(','));

/** Whether a test that needs this may not be skipped: where it does not work, it fails. */
export function isRequired(kind: string): boolean {
  return required.has(kind);
}
