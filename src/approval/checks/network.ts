import { readOptions } from '../shell/options.ts';
import { fromNetwork, isUnknown, unknown } from '../shell/values.ts';
import type { Invocation } from './invocation.ts';
import { resolvePaths } from './resolve.ts';
import { touchRead, touchWrite } from './touch.ts';

const local =
  /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|host\.docker\.internal|[\w-]+\.local(?:host)?|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+)(?:[:/]|$)/i;

/** What sends files away, fetches them, or ties a shell to the network. */
export const networkRules: Readonly<Record<string, (invocation: Invocation) => void>> = {
  curl,
  wget: fetchFile,
  wget2: fetchFile,
  http: ({ program, args, state }) => {
    for (const arg of args)
      if (/@[^=]*$/.test(arg) && /^[\w-]+=?@/.test(arg)) touchRead(arg.slice(arg.indexOf('@') + 1), program, state, true);
  },
  aria2c: ({ program, args, state }) => {
    const options = readOptions(args, { short: 'odxs', long: ['out', 'dir'] });
    for (const path of options.valuesOf('o', 'out')) download(path, program, state);
  },
  nc: netcat,
  ncat: netcat,
  netcat,
  'nc.openbsd': netcat,
  'nc.traditional': netcat,
  socat: ({ program, args, state, stdin }) => {
    const text = args.join(' ');
    if (/\b(?:exec|system|shell):/i.test(text)) state.judgement.report('network/remote-shell', program);
    if (/-listen:|\blisten:/i.test(text)) state.judgement.report('network/expose', program);
    if (stdin.some(isUnknown) && /\b(?:tcp|udp|openssl|ssl|sctp)[46]?(?:-connect)?:/i.test(text))
      state.judgement.report('network/send-file', program, [undefined]);
  },
  openssl: ({ program, args, state, stdin }) => {
    if (args[0] === 's_client' && stdin.some(isUnknown)) state.judgement.report('network/remote-shell', program);
    for (const [index, arg] of args.entries()) if (arg === '-out') touchWrite(args[index + 1] ?? '', program, state);
  },
  telnet: ({ program, state, stdin }) => {
    if (stdin.some(isUnknown)) state.judgement.report('network/remote-shell', program);
  },
  'ssh-copy-id': ({ program, state }) => state.judgement.report('persistence/remote-login', program),
  'ssh-keygen': ({ program, args, state }) => {
    const options = readOptions(args, { short: 'fbtCNPDEFGIJKMOQRSTUVWYZams' });
    if (options.has('p')) state.judgement.report('credentials/write', program);
    if (options.has('y', 'e')) for (const path of options.valuesOf('f')) touchRead(path, program, state, true);
  },
  'ssh-add': ({ program, args, state }) => {
    if (args.some((arg) => /^-[dDxs]/.test(arg))) state.judgement.report('credentials/write', program);
  },
};

function curl({ program, args, state, stdin }: Invocation): void {
  const options = readOptions(args, {
    short: 'oTdFHXuAbceKmxrwYyzCDEPQtU',
    long: [
      ...[
        'output',
        'upload-file',
        'data',
        'data-binary',
        'data-raw',
        'data-urlencode',
        'data-ascii',
        'json',
        'form',
        'form-string',
        'header',
        'request',
        'user',
        'user-agent',
        'cookie',
        'cookie-jar',
      ],
      ...[
        'config',
        'max-time',
        'connect-timeout',
        'proxy',
        'range',
        'write-out',
        'url',
        'cacert',
        'cert',
        'key',
        'referer',
        'retry',
        'retry-delay',
        'resolve',
        'output-dir',
        'dump-header',
        'unix-socket',
        'netrc-file',
        'interface',
      ],
    ],
  });
  const urls = [...options.rest, ...options.valuesOf('url')];
  const away = urls.length === 0 || !urls.every((url) => local.test(url));
  const sent = [
    ...options.valuesOf('T', 'upload-file'),
    ...options
      .valuesOf('d', 'data', 'data-binary', 'data-ascii', 'json', 'F', 'form', 'data-urlencode', 'H', 'header')
      .flatMap((value) => /^(?:[^=@]*=)?[@<](.+)$/s.exec(value)?.[1] ?? []),
  ].map((path) => path.replace(/;.*$/, ''));
  for (const path of sent) {
    if (path === '-' || path === '.') {
      if (away && stdin.some(isUnknown)) state.judgement.report('network/send-file', program, [undefined]);
      continue;
    }
    touchRead(path, program, state, true);
    if (away && !/\.(?:json|xml|graphql|gql|ndjson)$/i.test(path))
      state.judgement.report('network/send-file', program, resolvePaths(path, state));
  }
  for (const value of options.valuesOf('K', 'config')) if (isUnknown(value)) state.judgement.report('code/unseen', program);
  const inUse = [...options.valuesOf('unix-socket')];
  if (inUse.some((path) => /docker\.sock|containerd|podman/.test(path))) state.judgement.report('containers/privileged', program);
  const method = options.valuesOf('X', 'request')[0]?.toUpperCase();
  if (method === 'DELETE' && away) state.judgement.report('infrastructure/change', program);
  if (urls.some((url) => /169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200/.test(url)))
    state.judgement.report('credentials/store', program);
  for (const path of options.valuesOf('o', 'output')) download(path, program, state);
  for (const path of options.valuesOf('c', 'cookie-jar', 'D', 'dump-header')) if (path !== '-') touchWrite(path, program, state);
  if (options.has('O', 'remote-name', 'J')) for (const url of urls) download(nameOf(url), program, state);
  for (const url of urls) if (/^file:\/\//i.test(url)) touchRead(url.slice(7), program, state, true);
}

function fetchFile({ program, args, state }: Invocation): void {
  const options = readOptions(args, {
    short: 'OPoatTwQUBileR',
    long: [
      'output-document',
      'directory-prefix',
      'post-file',
      'body-file',
      'post-data',
      'header',
      'user-agent',
      'tries',
      'timeout',
      'wait',
      'input-file',
      'method',
      'use-askpass',
      'execute',
      'load-cookies',
      'save-cookies',
      'output-file',
    ],
  });
  for (const path of options.valuesOf('post-file', 'body-file')) {
    touchRead(path, program, state, true);
    state.judgement.report('network/send-file', program, resolvePaths(path, state));
  }
  if (options.valuesOf('use-askpass').length > 0) state.judgement.report('code/unseen', program);
  if (options.rest.some((url) => /169\.254\.169\.254|metadata\.google\.internal/.test(url)))
    state.judgement.report('credentials/store', program);
  const outputs = options.valuesOf('O', 'output-document');
  const [directory] = options.valuesOf('P', 'directory-prefix');
  for (const path of outputs) if (path !== '-') download(path, program, state);
  if (outputs.length === 0)
    for (const url of options.rest) download(directory === undefined ? nameOf(url) : `${directory}/${nameOf(url)}`, program, state);
}

function nameOf(url: string): string {
  return (
    url
      .replace(/^[a-z]+:\/\//i, '')
      .replace(/[?#].*$/s, '')
      .split('/')
      .slice(1)
      .at(-1) || 'index.html'
  );
}

/** A file that holds what somebody else's machine answered. */
function download(path: string, program: string, state: Invocation['state']): void {
  if (path === '-' || path === '/dev/stdout') return;
  touchWrite(path, program, state);
  for (const one of resolvePaths(path, state)) if (one !== undefined && !one.startsWith('/dev/')) state.files.set(one, [fromNetwork]);
}

function netcat({ program, args, state, stdin }: Invocation): void {
  const options = readOptions(args, { short: 'ecpswiIOPqTVxX', long: ['exec', 'sh-exec', 'lua-exec', 'source-port', 'wait', 'proxy'] });
  const listens = options.has('l', 'listen');
  if (options.has('e', 'c', 'exec', 'sh-exec', 'lua-exec') || args.some((arg) => /(?:^|\/)(?:ba|z|da|k)?sh$/.test(arg)))
    state.judgement.report('network/remote-shell', program);
  if (listens) state.judgement.report('network/expose', program);
  const host = options.rest[0] ?? '';
  if (!listens && !local.test(host) && !options.has('z') && stdin.some((text) => text !== '' && (isUnknown(text) || text === unknown)))
    state.judgement.report('network/send-file', program, [undefined]);
}
