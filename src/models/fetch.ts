/** Node's own `fetch` gives a server up that says nothing for so long. */
const ownLimitMs = 300_000;

/** What asks a provider that may say nothing for so long; undefined is Node's own. */
export async function fetchFor(silenceMs: number): Promise<typeof globalThis.fetch | undefined> {
  if (silenceMs < ownLimitMs) return undefined;
  const { Agent, fetch } = await import('undici');
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return ((input: string, init: object) => fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;
}
