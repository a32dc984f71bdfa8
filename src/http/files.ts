/** Security: pictures that cannot carry a script. Everything else is offered to be saved and never shown. */
const shownInline: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

export function isShownInline(mimeType: string): boolean {
  return shownInline.has(mimeType);
}

/** As RFC 6266 has it: a name everybody understands, and the real one. */
export function disposition(kind: 'inline' | 'attachment', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const full = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${kind}; filename="${plain}"; filename*=UTF-8''${full}`;
}
