/** The texts in an argument that may be a path: also in `--file=a`, `@a`, `a:b`, `type=bind,source=a` and `-Ca`. */
export function candidates(arg: string): readonly string[] {
  if (/^https?:\/\//.test(arg)) return [];
  const texts = new Set<string>();
  const parts = arg.includes(',') ? [arg, ...arg.split(',')] : [arg];
  for (const part of parts) {
    for (const text of [part, after(part, '='), after(part, '@'), ...attached(part)]) for (const one of listed(text)) texts.add(one);
  }
  return [...texts].filter((text) => text !== '' && !(text.startsWith('-') && text === arg));
}

function after(text: string, separator: string): string {
  const at = text.indexOf(separator);
  return at === -1 ? '' : text.slice(at + 1);
}

/** What stands directly behind the letter of an option, or behind several letters. */
function attached(text: string): readonly string[] {
  const [, value = ''] = /^-[A-Za-z](\.\..*|.*\/.*)$/s.exec(text) ?? [];
  const [, climbing = ''] = /^-[A-Za-z]+((?:\.\.|[~/]).*)$/s.exec(text) ?? [];
  return [value, climbing];
}

/** A list of paths is none itself, unless it leads up. */
function listed(text: string): readonly string[] {
  if (!text.includes(':')) return [text];
  const parts = [after(text, ':'), ...text.split(':')];
  return /^[~/]/.test(text) && !text.includes('..') ? parts : [text, ...parts];
}

/** Their first word is a pattern or a program, not a path, */
const patternFirst = /^(?:grep|egrep|fgrep|rg|ag|ack|sed|awk|gawk|mawk|jq|yq|perl|python[\d.]*|node|ruby|php|expr|tr|pgrep)$/;
/** unless an option holds it or names the file that does. */
const patternOption = /^-[a-z]*[ef]$|^--(?:ex?|fi?l?)(?:=|$)|^--(?:file|reg|exp)/;
const attachedPattern = /^-[a-zA-Z]*[ef]./;

/** Which of the words of a program is no path although others are. */
export function patternOf(program: string, args: readonly string[], words: readonly string[]): string | undefined {
  if (!patternFirst.test(program) || args.some((arg) => patternOption.test(arg))) return undefined;
  if (/^(?:[ef]?grep|rg|sed|[gm]?awk)$/.test(program) && args.some((arg) => attachedPattern.test(arg))) return undefined;
  return words[0];
}
