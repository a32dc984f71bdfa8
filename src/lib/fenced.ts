/** The start of every code block of ours. */
const fence = '```';

/** Makes a code block that its content cannot end. */
export function fenced(text: string): string {
  const longest = Math.max(fence.length - 1, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const line = '`'.repeat(longest + 1);
  return `${line}\n${text.trimEnd()}\n${line}`;
}
