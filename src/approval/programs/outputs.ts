import { resolvePaths } from '../checks/resolve.ts';
import type { State } from '../shell/state.ts';
import { fromNetwork, hasPlaceholder, isFromNetwork, isUnknown, parameter, plainToken, transformed, unknown } from '../shell/values.ts';
import { foundBy } from './found-by.ts';

type Texts = readonly string[];
type Output = (args: Texts, state: State, stdin: Texts) => Texts;

const silent = new Set(
  'true false : cd mkdir test [ [[ export set unset sleep touch rm mv cp ln chmod chown kill wait trap exit return shift let local declare readonly umask source . pushd popd'.split(
    ' ',
  ),
);
/** They print a number or a name. */
const tokens = new Set(
  'nproc uname arch hostname whoami id logname wc seq expr pgrep pidof uuidgen getconf tty cksum md5sum sha1sum sha256sum sha512sum b2sum stat tput nvidia-smi'.split(
    ' ',
  ),
);
const networkPrograms =
  /^(?:curl|wget2?|http|https|xh|aria2c|fetch|lynx|links|w3m|elinks|nc|ncat|netcat|telnet|ftp|tftp|sftp|dig|nslookup|host|drill|socat|gsutil|smbclient|rclone|hurl|curlie|axel)$/;
/** They give out what they take in, cut or sorted. */
const readers =
  /^(?:cat|tac|head|tail|sort|uniq|tee|nl|bat|less|more|fold|expand|unexpand|zcat|gunzip|gzip|bzcat|xzcat|zstdcat|cut|paste|sed|grep|egrep|fgrep|rg|tr|strings|iconv|dos2unix|openssl|gpg|xxd|od|hexdump|base32|uudecode|basenc|jq|yq|pv|dd|awk|column|fmt|shuf|cpio|tar|unzip|rev|base64|sponge|colrm|age|7z|envsubst|python3?|perl)$/;

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

/** The text that `echo -e` and `printf` make of backslashes. */
function withEscapes(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|(.))/gs,
    (whole, hex, short, long, octal, letter) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) return Number.parseInt(code, 16) <= 0x10ffff ? String.fromCodePoint(Number.parseInt(code, 16)) : whole;
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return escapes[letter as string] ?? whole;
    },
  );
}

/** What printf prints. */
export function printed(args: Texts): Texts {
  const [format = '', ...values] = args[0] === '--' ? args.slice(1) : args;
  if (isUnknown(format)) return [transformed(format)];
  const rest = [...values];
  let text = '';
  for (let round = 0; round === 0 || (rest.length > 0 && round < 50); round++) {
    const before = rest.length;
    text += withEscapes(format).replace(
      /%(?:%|(-?)0?(\d*)(?:\.(\d+))?([sbdiuxXocqfeg])|\(.*?\)T)/g,
      (whole, _left, _width, precision: string | undefined, kind: string | undefined) => {
        if (whole === '%%') return '%';
        if (kind === undefined) return plainToken;
        const value = rest.shift() ?? '';
        if (kind === 's' || kind === 'q')
          return precision === undefined || hasPlaceholder(value) ? value : value.slice(0, Number(precision));
        if (kind === 'b') return withEscapes(value);
        if (kind === 'c') return hasPlaceholder(value) ? transformed(value) : value.slice(0, 1);
        if (!/^-?\d+$/.test(value)) return hasPlaceholder(value) ? transformed(value) : '0';
        return Number(value).toString(kind === 'x' || kind === 'X' ? 16 : kind === 'o' ? 8 : 10);
      },
    );
    if (rest.length === before) break;
  }
  return [text];
}

const echo: Output = (args) => {
  const start = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const text = start === -1 ? '' : args.slice(start).join(' ');
  const end = args.slice(0, start === -1 ? args.length : start).some((arg) => arg.includes('n')) ? '' : '\n';
  // Whether backslashes count depends on the shell.
  return text.includes('\\') ? [withEscapes(text) + end, text + end] : [text + end];
};

const base64: Output = (args, state, stdin) => {
  if (!args.some((arg) => /^(?:-[a-z]*[dD]|--d(?:ecode)?)$/.test(arg))) return filtered(args, state, stdin);
  return filtered(args, state, stdin, true).map((text) => {
    const clean = text.replace(/\s/g, '');
    if (hasPlaceholder(text) || !/^[A-Za-z0-9+/=_-]+$/.test(clean)) return transformed(text);
    return Buffer.from(clean, 'base64').toString('utf8');
  });
};

const xxd: Output = (args, state, stdin) => {
  const plain = args.some((arg) => /^-\w*r/.test(arg)) && args.some((arg) => /^-\w*p/.test(arg));
  if (!plain) return filtered(args, state, stdin);
  return stdin.map((text) =>
    /^[0-9a-fA-F\s]+$/.test(text) ? Buffer.from(text.replace(/\s/g, ''), 'hex').toString('utf8') : transformed(text),
  );
};

const reverse: Output = (args, state, stdin) =>
  filtered(args, state, stdin, true).map((text) =>
    hasPlaceholder(text)
      ? transformed(text)
      : text
          .split('\n')
          .map((line) => [...line].reverse().join(''))
          .join('\n'),
  );

/** What a filter reads, untouched where `plain`, otherwise only whether it is from the network. */
function filtered(args: Texts, state: State, stdin: Texts, plain = false): Texts {
  const files = args.filter((arg) => !arg.startsWith('-') || arg === '-').flatMap((arg) => (arg === '-' ? [] : resolvePaths(arg, state)));
  const written = files.flatMap((path) => (path === undefined ? [] : (state.files.get(path) ?? [])));
  const input = [
    ...(written.length > 0 ? written : files.length > 0 && plain ? [unknown] : []),
    ...(files.length === 0 || !plain ? stdin : []),
  ];
  if (plain) return input.length > 0 ? input : [unknown];
  return [
    input.some(isFromNetwork)
      ? fromNetwork
      : input.length > 0 && input.every((text) => text === plainToken || text === `${plainToken}\n`)
        ? plainToken
        : unknown,
  ];
}

const concatenate: Output = (args, state, stdin) => {
  if (args.some((arg) => /\.pid$/.test(arg))) return [plainToken];
  return filtered(args, state, stdin, true);
};

const programPath: Output = (args) => {
  const names = args.filter((arg) => !arg.startsWith('-'));
  return names.length === 1 && names[0] !== undefined ? [names[0].includes('/') ? names[0] : `/usr/bin/${names[0]}`] : [unknown];
};

const git: Output = (args) => {
  const words = args.filter((arg) => !arg.startsWith('-'));
  if (words[0] === 'rev-parse' && args.includes('--show-toplevel')) return [unknown];
  return /^(?:rev-parse|describe|symbolic-ref|rev-list|merge-base|write-tree|hash-object)$/.test(words[0] ?? '') ||
    args.includes('--show-current')
    ? [plainToken]
    : [unknown];
};

const outputs: Readonly<Record<string, Output>> = {
  echo,
  base64,
  xxd,
  rev: reverse,
  cat: concatenate,
  tee: (_args, _state, stdin) => stdin,
  pwd: (_args, state) => state.workingDirectories,
  mktemp: (args) => [`/tmp/tmp.${plainToken}${args.some((arg) => isUnknown(arg)) ? unknown : ''}`],
  which: programPath,
  type: programPath,
  basename: (args) => [
    args[0] === undefined || isUnknown(args[0])
      ? transformed(args[0] ?? '')
      : (args[0].replace(/\/+$/, '').split('/').at(-1) ?? '').replace(args[1] ?? '', ''),
  ],
  dirname: (args) => [
    args[0] === undefined || isUnknown(args[0])
      ? transformed(args[0] ?? '')
      : args[0].includes('/')
        ? args[0].replace(/\/[^/]*\/*$/, '') || '/'
        : '.',
  ],
  realpath: (args, state) => resolvePaths(args.at(-1) ?? '', state).map((path) => path ?? unknown),
  readlink: (args, state) => resolvePaths(args.at(-1) ?? '', state).map((path) => path ?? unknown),
  date: (args) => [args.every((arg) => !arg.startsWith('+') || /^\+(?:%[A-Za-z%][-_:.T,]?)+$/.test(arg)) ? plainToken : unknown],
  git,
  // And more of the kind, which is not known.
  ls: (args) => [[...args.filter((arg) => !arg.startsWith('-')), unknown].join('\n')],
  find: (args) => [`${foundBy(args).join('\n')}\n${unknown}`],
  lsof: (args) => [args.some((arg) => /^-\w*t/.test(arg)) ? plainToken : unknown],
  ps: () => [unknown],
  jobs: () => [plainToken],
  docker: (args) => [args.some((arg) => /^-\w*q\w*$|^--quiet$/.test(arg)) ? plainToken : unknown],
  openssl: (args, state, stdin) =>
    args[0] === 'rand' ? [plainToken] : args[0] === 's_client' ? [fromNetwork] : filtered(args, state, stdin),
  // They print what only sets up the shell they belong to.
  'ssh-agent': () => [':'],
  pyenv: (args) => [args[0] === 'init' ? ':' : unknown],
  rbenv: (args) => [args[0] === 'init' ? ':' : unknown],
  nodenv: (args) => [args[0] === 'init' ? ':' : unknown],
  brew: (args) => [args[0] === 'shellenv' ? ':' : unknown],
};

const completing = /^(?:kubectl|helm|gh|docker|podman|npm|pip3?|poetry|rustup|minikube|kind|k9s|oc|flux|argocd|uv|deno|op|glab)$/;

/** What a program prints, as far as that can be said without running it. */
export function outputOf(program: string, args: Texts, state: State, stdin: Texts): Texts {
  if (completing.test(program) && args[0] === 'completion') return [':'];
  if (Object.hasOwn(outputs, program)) return outputs[program]?.(args, state, stdin) ?? [unknown];
  if (silent.has(program)) return [''];
  if (tokens.has(program)) return [plainToken];
  if (networkPrograms.test(program)) return [fromNetwork];
  if (readers.test(program)) return filtered(args, state, stdin);
  if (stdin.some((text) => text.includes(parameter))) return [parameter];
  return [stdin.some(isFromNetwork) ? fromNetwork : unknown];
}
