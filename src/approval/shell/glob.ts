const mostPattern = 200;

/** The expression a pattern of the shell stands for, or undefined when it is too much of one. `*` crosses slashes where `anywhere`. */
export function globExpression(pattern: string, anywhere: boolean): RegExp | undefined {
  // Security: many stars in a row of alternatives would make the expression take exponential time.
  if (pattern.length > mostPattern || (pattern.match(/\*/g)?.length ?? 0) > 6) return undefined;
  let source = '';
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string;
    const start = !anywhere && (at === 0 || pattern[at - 1] === '/');
    const hidden = start ? '(?!\\.)' : '';
    if (character === '*') source += `${hidden}${anywhere ? '[\\s\\S]*' : '[^/]*'}`;
    else if (character === '?') source += `${hidden}${anywhere ? '[\\s\\S]' : '[^/]'}`;
    else if (character === '[') {
      const set = /^\[([!^]?)(\]?[^\]/]*)\]/.exec(pattern.slice(at));
      if (!set) source += '\\[';
      else {
        source += `[${set[1] ? '^' : ''}${(set[2] ?? '').replace(/[\\\]^[]/g, '\\$&')}]`;
        at += set[0].length - 1;
      }
    } else source += character.replace(/[.+^${}()|\\/\]]/g, '\\$&');
  }
  try {
    return new RegExp(`^${source}$`);
  } catch {
    return undefined;
  }
}

export function isPattern(text: string): boolean {
  return /[*?[]/.test(text);
}
