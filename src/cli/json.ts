/** For people and programs; what is not known is null. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, (_key, item: unknown) => (item === undefined ? null : item), 2)}\n`;
}
