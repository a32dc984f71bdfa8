/**
 * A glob as a POSIX extended regular expression for a whole path that starts with `./`, with the rules of gitignore: without a slash it is
 * about the name at any depth, with one about the path; `*` and `?` stay within a name, `**` does not, `{a,b}` is a choice.
 */
export function globExpression(glob: string): string {
  const isAnchored = glob.replace(/\/$/, '').includes('/');
  const body = glob.replace(/^\//, '').replace(/\/$/, '');
  return `\\./${isAnchored ? '' : '(.*/)?'}${translate(body)}`;
}

const special = /[.^$*+?()[\]{}|\\]/g;

function translate(glob: string): string {
  let expression = '';
  let depth = 0;
  for (let at = 0; at < glob.length; at++) {
    const rest = glob.slice(at);
    const set = /^\[([!^]?)(\]?[^\]/]*)\]/.exec(rest);
    const starsAndSlash = at === 0 || glob[at - 1] === '/' ? /^\*\*\//.exec(rest) : null;
    if (starsAndSlash) {
      expression += '(.*/)?';
      at += 2;
    } else if (rest === '**' && (at === 0 || glob[at - 1] === '/')) {
      expression += '.*';
      at += 1;
    } else if (rest[0] === '*') expression += '[^/]*';
    else if (rest[0] === '?') expression += '[^/]';
    else if (set) {
      expression += `[${set[1] ? '^' : ''}${set[2]}]`;
      at += set[0].length - 1;
    } else if (rest[0] === '{' && closes(rest)) {
      expression += '(';
      depth += 1;
    } else if (rest[0] === ',' && depth > 0) expression += '|';
    else if (rest[0] === '}' && depth > 0) {
      expression += ')';
      depth -= 1;
    } else {
      const isEscape = rest[0] === '\\' && rest.length > 1;
      const character = (isEscape ? rest[1] : rest[0]) ?? '';
      expression += character.replace(special, '\\$&');
      if (isEscape) at += 1;
    }
  }
  return expression;
}

/** Whether the brace at the start has its partner. */
function closes(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (depth === 0) return true;
  }
  return false;
}
