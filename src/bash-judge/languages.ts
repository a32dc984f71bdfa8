/** Small languages of which enough is understood to say that a program in them only reads and computes. Doubt means no. */

/** The files a sed script writes; `run` when it runs or reads something. */
export function sedEffects(script: string): 'run' | readonly string[] {
  const files: string[] = [];
  let at = 0;
  const skip = (expression: RegExp): string => {
    const [text = ''] = new RegExp(expression.source, 'y').exec(script.slice(at)) ?? [];
    at += text.length;
    return text;
  };
  while (at < script.length) {
    skip(/[\s;{}]*/);
    // Addresses: numbers, `$`, patterns, ranges, steps.
    while (at < script.length && /[\d$/\\,~+!]/.test(script[at] ?? '')) {
      const delimiter = script[at] === '\\' ? script[at + 1] : script[at] === '/' ? '/' : undefined;
      if (delimiter === undefined) at++;
      else {
        if (script[at] === '\\') at++;
        at = afterDelimited(script, at + 1, delimiter);
        skip(/[IM]*/);
      }
      skip(/\s*/);
    }
    const command = script[at++];
    if (command === undefined) break;
    if (command === 's' || command === 'y') {
      const delimiter = script[at] ?? '';
      // Whether a delimiter in a set ends it is not the same everywhere.
      if (new RegExp(`\\[[^\\]]*${delimiter.replace(/\W/, '\\$&')}[^\\]]*\\]`).test(script.slice(at))) return 'run';
      at = afterDelimited(script, afterDelimited(script, at + 1, delimiter), delimiter);
      const flags = skip(/[a-zA-Z0-9]*/);
      if (flags.includes('e')) return 'run';
      if (flags.includes('w')) files.push(skip(/[^\n]*/).trim());
    } else if (command === 'w' || command === 'W') files.push(skip(/[^\n]*/).trim());
    else if (/[:btT]/.test(command)) skip(/[ \t]*[^\s;}]*/);
    else if (/[aic#]/.test(command)) skip(/(?:\\\n|[^\n])*/);
    else if (!/[dDgGhHlnNpPxqQz=}]/.test(command)) return 'run';
    else if (/[qQl]/.test(command)) skip(/\s*\w*/);
  }
  return files;
}

function afterDelimited(text: string, start: number, delimiter: string): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '[' && delimiter !== '[') at = closingBracket(text, at, delimiter);
    else if (text[at] === delimiter) return at + 1;
  }
  return text.length;
}

/** A set of characters may hold the delimiter; where it has no end it is none. */
function closingBracket(text: string, start: number, delimiter: string): number {
  const end = text.indexOf(']', start + (/^\[\^?\]/.test(text.slice(start)) ? 3 : 1));
  return end === -1 || text.slice(start, end).includes(`${delimiter}`) ? start : end;
}

export function isHarmlessAwk(program: string): boolean {
  // A quote in a regular expression begins no string, so strings are only left out where there is none.
  const named = program.replace(/"\/dev\/std(?:err|out)"/g, '1');
  const bare = /[/#]/.test(named) ? named : named.replace(/"(?:\\.|[^"\\])*"/g, '""');
  if (/\b(?:system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC)\b|@|(?:^|[^|])\|(?!\|)/.test(bare)) return false;
  const printing = bare.slice(Math.max(0, bare.search(/\bprintf?\b/)));
  return !bare.includes('print') || !/>(?!=)(?!\s*1\s*(?:[;}\n]|$))/.test(printing);
}

export function isHarmlessJq(filter: string): boolean {
  if (filter.includes('#')) return false;
  return !/\b(?:env|strenv|envsubst|eval|load|load_str|include|import|input_filename|get_search_list|modulemeta)\b|\$ENV|\$__prog/.test(
    filter.replace(/"(?:\\.|[^"\\])*"/g, (text) => (text.includes('\\(') ? text : '""')),
  );
}

const reading =
  /^(?:select|explain|with|show|describe|desc|values|table|pragma\s+(?:table_info|table_list|index_list|index_info|database_list|foreign_key_list|user_version|schema_version|integrity_check|quick_check)\b|\.(?:tables|schema|headers|mode|indexes|indices|databases|width|timer|help|quit|exit|fullschema|dbinfo)\b|\\d[a-zA-Z+]*\b|\\(?:l|dt|dn|du|di|dv|df|x|timing|conninfo|q|pset)\b)/i;
const writing =
  /\b(?:insert|update|delete|drop|alter|create|replace|truncate|grant|revoke|attach|detach|vacuum|copy|into\s+(?:outfile|dumpfile)|load_file|load_extension|readfile|writefile|edit|fts3_tokenizer|pg_read_file|pg_read_binary_file|pg_ls_dir|pg_sleep|lo_\w+|dblink\w*|xp_\w+|sp_\w+|call|do|execute|set|pg_terminate_backend|pg_reload_conf|query_to_xml\w*)\b|\\[!goiwce]|[`|]|^\.(?:shell|system|output|once|import|read|load|open|save|backup|restore|dump|excel|log)/im;

export function isReadingSql(text: string): boolean {
  // Comments and strings are not told apart.
  if (/--|\/\*/.test(text)) return false;
  const bare = text.replace(/'(?:''|[^'])*'/g, "''").replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ');
  const statements = bare
    .split(/[;\n](?=\s*(?:$|\S))/)
    .map((one) => one.trim())
    .filter((one) => one !== '');
  return (
    !writing.test(bare) &&
    statements.length > 0 &&
    reading.test(statements[0] ?? '') &&
    bare.split(';').every((one) => one.trim() === '' || reading.test(one.trim()))
  );
}
