/** What every code block of ours begins with. */
const fence = '```';

/** As a code block. Whatever is in it, it does not end the fence. */
export function fenced(text: string): string {
  const longest = Math.max(fence.length - 1, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const line = '`'.repeat(longest + 1);
  return `${line}\n${text.trimEnd()}\n${line}`;
}
