/** What Slack writes into a text in place of what people see: people, channels, groups, addresses, and three characters. */
const entity = /<([^<>]*)>|&(amp|lt|gt);/g;
const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>' };

/** A text of Slack as people see it. `nameOf` is undefined for people who are not known. */
export function readable(text: string, nameOf: (user: string) => string | undefined): string {
  return text.replace(entity, (whole, inner: string | undefined, character: string | undefined) =>
    inner === undefined ? (characters[character ?? ''] ?? whole) : shownEntity(inner, whole, nameOf),
  );
}

/** Plain text as Slack writes it, so that nothing of it rings for anybody or is an address. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The people who are named in a text. */
export function mentionedUsers(text: string): string[] {
  return [...new Set([...text.matchAll(/<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>/g)].map(([, user]) => user as string))];
}

export function mentions(text: string, user: string): boolean {
  return mentionedUsers(text).includes(user);
}

/** Without the name of this user at the beginning. */
export function withoutAddress(text: string, user: string): string {
  return text.replace(new RegExp(`^\\s*<@${user}(?:\\|[^<>]*)?>[\\s:,]*`), '');
}

function shownEntity(inner: string, whole: string, nameOf: (user: string) => string | undefined): string {
  const bar = inner.indexOf('|');
  const [target, label] = bar === -1 ? [inner, undefined] : [inner.slice(0, bar), plain(inner.slice(bar + 1))];
  if (target.startsWith('@')) return `@${nameOf(target.slice(1)) ?? (label || target.slice(1))}`;
  if (target.startsWith('#')) return `#${label || target.slice(1)}`;
  if (target.startsWith('!')) return shownCommand(target.slice(1), label);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(target)) return plain(whole);
  const address = plain(target);
  if (label === undefined || label === '' || label === address) return address;
  // What people wrote without the scheme.
  return address.replace(/^(https?:\/\/|mailto:|tel:)/i, '').replace(/\/$/, '') === label.replace(/\/$/, '')
    ? label
    : `${label} (${address})`;
}

/** Everybody, a group, or a date. */
function shownCommand(command: string, label: string | undefined): string {
  const [name = '', id] = command.split('^');
  if (name === 'here' || name === 'channel' || name === 'everyone') return `@${name}`;
  if (name === 'subteam') return label ? `@${label.replace(/^@/, '')}` : `@${id ?? ''}`;
  return label || command;
}

function plain(text: string): string {
  return text.replace(/&(amp|lt|gt);/g, (whole, name: string) => characters[name] ?? whole);
}
