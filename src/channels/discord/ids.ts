/** Discord's ids begin with the milliseconds since 2015. */
const epoch = 1_420_070_400_000;

/** The smallest one of this time. */
export function idAt(time: number): bigint {
  return BigInt(Math.max(0, time - epoch)) << 22n;
}

/** Security: ids become parts of addresses, and are compared as numbers. */
export function isId(part: unknown): part is string {
  return typeof part === 'string' && /^\d{1,20}$/.test(part);
}
