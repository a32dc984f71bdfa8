/** Loaded on first use: it takes a while. */
export async function loadSsh2(): Promise<typeof import('ssh2')> {
  const loaded = await import('ssh2');
  // A CommonJS module.
  return (loaded as unknown as { default: typeof import('ssh2') }).default;
}
