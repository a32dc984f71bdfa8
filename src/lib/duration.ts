const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of `90s`, `15m`, `12h` or `30d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 0);
}

const scale = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** As people say it, in at most two units: `12 s`, `5 min`, `1 h 30 min`, `2 d`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000)) * 1000;
  const first = scale.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0 s';
  let rest = seconds;
  const parts = scale.slice(first, first + 2).flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.join(' ');
}
