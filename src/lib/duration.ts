const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of `90s`, `15m`, `12h` or `30d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 0);
}
