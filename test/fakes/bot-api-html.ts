const tags = new Set([
  'b',
  'strong',
  'i',
  'em',
  'u',
  'ins',
  's',
  'strike',
  'del',
  'code',
  'pre',
  'a',
  'blockquote',
  'span',
  'tg-spoiler',
  'tg-emoji',
]);
const references: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/** What a reader sees of Telegram's HTML. Throws with the words of Telegram when it is not well formed. */
export function visibleText(html: string): string {
  const open: string[] = [];
  let text = '';
  let at = 0;
  const fail = (why: string): never => {
    throw new Error(`can't parse entities: ${why}`);
  };
  while (at < html.length) {
    const character = html.charAt(at);
    if (character === '&') {
      const [whole, name, decimal] = /^&(?:([a-z]+)|#(\d+));/i.exec(html.slice(at, at + 12)) ?? [];
      const known = name !== undefined ? references[name] : decimal !== undefined ? String.fromCodePoint(Number(decimal)) : undefined;
      text += known ?? '&';
      at += known === undefined ? 1 : (whole?.length ?? 1);
    } else if (character === '<') {
      const end = html.indexOf('>', at);
      if (end < 0) fail(`Unclosed start tag at byte offset ${at}`);
      const inside = html.slice(at + 1, end);
      const [, closing, name = '', attributes = ''] = /^(\/?)([a-z][a-z0-9-]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*$/i.exec(inside) ?? [];
      if (!tags.has(name)) fail(`Unsupported start tag "${name || inside.slice(0, 20)}" at byte offset ${at}`);
      if (closing) {
        const expected = open.pop();
        if (expected !== name) fail(`Unmatched end tag at byte offset ${at}, expected "</${expected ?? ''}>", found "</${name}>"`);
      } else {
        if (name === 'a' && !/\shref="[^"]+"/.test(attributes)) fail(`Tag "a" without href at byte offset ${at}`);
        open.push(name);
      }
      at = end + 1;
    } else {
      text += character;
      at += 1;
    }
  }
  if (open.length > 0) fail(`Can't find end tag corresponding to start tag "${open.at(-1)}"`);
  return text;
}
