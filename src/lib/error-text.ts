/** The message of anything that was thrown, errors or not. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
