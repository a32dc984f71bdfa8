/**
 * Security: the same without NUL and halves of characters, which providers refuse. A transcript is sent again with every turn, so a single one that
 * a person, a tool or a cut brought in would end a session for good. What has none of them comes back as it is.
 */
export function sendable<T>(value: T): T {
  return cleaned(value) as T;
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) {
    const items = value.map(cleaned);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, item]) => [cleanText(key), cleaned(item)] as const);
  const isSame = entries.every(([key, item]) => Object.hasOwn(value, key) && (value as Record<string, unknown>)[key] === item);
  return isSame ? value : Object.fromEntries(entries);
}

function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
