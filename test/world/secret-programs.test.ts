import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Arrival } from './records.ts';
import { describeRestricted, proxyVariables } from './restricted.ts';
import { tokens } from './tokens.ts';
import {
  aptArchive,
  aptGet,
  aptNeeds,
  cargoArchive,
  cargoFetch,
  cargoMissing,
  goArchive,
  goGet,
  javaRun,
  quoted,
  whyMissing,
} from './tried-programs.ts';

const { API_KEY, GIT_TOKEN, NPM_TOKEN, PYPI_TOKEN, DEB_TOKEN, GO_TOKEN, CARGO_REGISTRIES_WORLD_TOKEN } = tokens;
const secrets = {
  secrets: {
    GIT_TOKEN: { hosts: ['git.test'] },
    NPM_TOKEN: { hosts: ['npm.test'] },
    PYPI_TOKEN: { hosts: ['pypi.test'] },
    DEB_TOKEN: { hosts: ['deb.test'] },
    GO_TOKEN: { hosts: ['go.test'] },
    CARGO_REGISTRIES_WORLD_TOKEN: { hosts: ['crates.test'] },
    API_KEY: { hosts: ['api.test', 'api.github.com'] },
  },
  file: { GIT_TOKEN, NPM_TOKEN, PYPI_TOKEN, DEB_TOKEN, GO_TOKEN, CARGO_REGISTRIES_WORLD_TOKEN },
  environment: { API_KEY },
};

interface Program {
  title: string;
  command: string;
  /** What it prints when it works. */
  prints: string;
  /** The request that then arrived in the world. */
  sends: { host: string; headers: Readonly<Record<string, string>>; method?: string; url?: string };
  /** Programs of this machine, below /usr/bin. */
  needs?: readonly string[];
  /** Why it cannot be tried here. */
  missing?: string | undefined;
}

const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const bearer = { host: 'api.test', headers: { authorization: `Bearer ${API_KEY}` } };
const hello = { prints: 'hello from api.test', sends: bearer };
const git = { needs: ['git'], prints: 'tiny-git works' };
const cloned = { host: 'git.test', headers: { authorization: basic('x', GIT_TOKEN) } };

const python = {
  urllib: [
    'import os, urllib.request as r',
    'print(r.urlopen(r.Request("https://api.test/", headers={"Authorization": "Bearer " + os.environ["API_KEY"]})).read().decode())',
  ].join('\n'),
  requests: [
    'import os; from pip._vendor import requests',
    'print(requests.get("https://api.test/", headers={"Authorization": "Bearer " + os.environ["API_KEY"]}).text)',
  ].join('\n'),
};

const node = {
  fetch:
    "fetch('https://api.test/', { headers: { authorization: 'Bearer ' + process.env.API_KEY } }).then((r) => r.text()).then(console.log)",
  // Asks for the next event when it has one: without the first, the second is never sent.
  model: `(async () => {
    const headers = { authorization: 'Bearer ' + process.env.API_KEY, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'count' }] });
    const answer = await fetch('https://api.test/v1/chat/completions', { method: 'POST', headers, body });
    let said = '';
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      for (const [, data] of piece.matchAll(/data: ({.*})/g)) {
        said += JSON.parse(data).choices[0].delta.content + ' ';
        await fetch('https://api.test/v1/next');
      }
    }
    console.log(said + answer.status);
  })()`,
  socket: `
    const socket = new WebSocket('wss://api.test/socket', { headers: { authorization: 'Bearer ' + process.env.API_KEY } });
    let heard = 0;
    socket.onmessage = ({ data }) => { console.log(data); if (++heard === 2) socket.close(); else socket.send('hello from api.test'); };
    socket.onerror = (event) => { console.log('failed', event.message); process.exit(1); };`,
};

const java = `class Get { public static void main(String[] a) throws Exception {
  var client = java.net.http.HttpClient.newHttpClient();
  var request = java.net.http.HttpRequest.newBuilder(java.net.URI.create("https://api.test/"))
    .header("Authorization", "Bearer " + System.getenv("API_KEY")).build();
  System.out.println(client.send(request, java.net.http.HttpResponse.BodyHandlers.ofString()).body());
} }`;

const programs: readonly Program[] = [
  {
    title: 'curl with Authorization',
    needs: ['curl'],
    command: 'curl -sSf -H "Authorization: Bearer $API_KEY" https://api.test/',
    ...hello,
  },
  {
    ...{ title: 'curl with x-api-key', needs: ['curl'], command: 'curl -sSf -H "x-api-key: $API_KEY" https://api.test/' },
    ...{ prints: 'hello from api.test', sends: { host: 'api.test', headers: { 'x-api-key': API_KEY } } },
  },
  { title: 'wget', needs: ['wget'], command: 'wget -q --header="Authorization: Bearer $API_KEY" -O - https://api.test/', ...hello },
  {
    ...{ title: 'git clone with url.insteadOf', ...git, sends: cloned },
    command:
      'rm -rf project; git -c "url.https://x:$GIT_TOKEN@git.test/.insteadOf=ssh://git@git.test/" clone -q ssh://git@git.test/team/project.git; cat project/readme',
  },
  {
    ...{ title: 'git clone with an extra header', ...git, sends: cloned },
    command:
      'rm -rf project; git -c http.extraHeader="Authorization: Basic $(printf %s "x:$GIT_TOKEN" | base64 -w 0)" clone -q https://git.test/team/project.git; cat project/readme',
  },
  {
    ...{ title: 'git push of more than 1 MB with a credential helper', ...git },
    command:
      'rm -rf project; git config --global credential.helper \'!f() { echo username=x; echo "password=$GIT_TOKEN"; }; f\'; ' +
      'git clone -q https://git.test/team/project.git; cd project; cat readme; head -c 3000000 /dev/urandom >large; git add large; ' +
      'git -c user.name=x -c user.email=x@example.org commit -q -m Large; git push -q origin HEAD:refs/heads/pushed --force',
    sends: { ...cloned, method: 'POST', url: '/team/project.git/git-receive-pack' },
  },
  {
    ...{ title: 'npm', needs: ['npm', 'node'] },
    command:
      `rm -rf package; mkdir package; cd package; printf '%s\\n' 'registry=https://npm.test/' '//npm.test/:_authToken=\${NPM_TOKEN}' >.npmrc; ` +
      'npm install --cache "$PWD/cache" --no-audit --no-fund tiny-npm >&2; node -p "require(\'tiny-npm\')"',
    prints: 'tiny-npm works',
    sends: { host: 'npm.test', headers: { authorization: `Bearer ${NPM_TOKEN}` }, url: '/tiny-npm/-/tiny-npm-1.0.0.tgz' },
  },
  {
    ...{ title: 'pip', needs: ['python3'] },
    command:
      'rm -rf target; python3 -m pip --disable-pip-version-check -q install --no-cache-dir --index-url "https://x:$PYPI_TOKEN@pypi.test/simple/" ' +
      '--target target tiny-pip; grep -h works target/tiny_pip.py',
    prints: 'tiny-pip works',
    sends: {
      ...{ host: 'pypi.test', headers: { authorization: basic('x', PYPI_TOKEN) } },
      url: '/packages/tiny_pip-1.0-py3-none-any.whl',
    },
  },
  { title: 'python urllib', needs: ['python3'], command: `python3 -c ${quoted(python.urllib)}`, ...hello },
  { title: 'python requests', needs: ['python3'], command: `python3 -c ${quoted(python.requests)}`, ...hello },
  { title: 'the node of this machine', needs: ['node'], command: `node -e ${quoted(node.fetch)}`, ...hello },
  { title: 'node 24', command: `/opt/node24 -e ${quoted(node.fetch)}`, ...hello },
  {
    ...{ title: 'a client of a model, event by event,', command: `/opt/node24 -e ${quoted(node.model)}`, prints: 'one two three 200' },
    sends: { ...bearer, method: 'POST', url: '/v1/chat/completions' },
  },
  { title: 'a WebSocket', command: `/opt/node24 -e ${quoted(node.socket)}`, ...hello, sends: { ...bearer, url: '/socket' } },
  { title: 'java', needs: ['java', 'javac'], command: javaRun(java), ...hello },
  {
    title: 'go',
    needs: ['go'],
    command: `export GOPROXY="https://x:$GO_TOKEN@go.test"; ${goGet}`,
    prints: 'tiny-go works',
    sends: { host: 'go.test', headers: { authorization: basic('x', GO_TOKEN) }, url: goArchive },
  },
  {
    title: 'cargo',
    missing: cargoMissing,
    command:
      'export CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS=cargo:token CARGO_REGISTRIES_WORLD_INDEX=sparse+https://crates.test/; ' +
      cargoFetch('{ version = "1", registry = "world" }'),
    prints: 'tiny-cargo works',
    sends: { host: 'crates.test', headers: { authorization: CARGO_REGISTRIES_WORLD_TOKEN }, url: cargoArchive },
  },
  {
    ...{ title: 'gh', needs: ['gh'], command: 'GH_TOKEN=$API_KEY gh api user' },
    ...{ prints: 'hello from api.github.com', sends: { host: 'api.github.com', headers: { authorization: `token ${API_KEY}` } } },
  },
];

const aptProgram = (kind: string): Program => ({
  title: 'apt',
  needs: aptNeeds(kind),
  command: aptGet(kind, 'https://deb.test/debian', { login: 'machine deb.test login x password $DEB_TOKEN' }),
  prints: 'tiny-deb works',
  sends: { host: 'deb.test', headers: { authorization: basic('x', DEB_TOKEN) }, url: aptArchive },
});

type Request = Extract<Arrival, { kind: 'request' }>;
const isRequest = (arrival: Arrival): arrival is Request => arrival.kind === 'request';

await describeRestricted(
  { allow: ['other.test'], presets: [] },
  ({ kind, world, restricted }) => {
    for (const program of [...programs, aptProgram(kind)]) {
      const { title, command, prints, sends } = program;
      const missing = whyMissing(program);
      const reason = missing === undefined ? '' : `: ${missing}`;
      it.skipIf(missing)(`lets ${title} use a secret, with the variables of the proxy and without them${reason}`, async () => {
        await world().arrivals();
        const twice = `(set -e; (${command}); (unset ${proxyVariables}; ${command}))`;
        const { code, stdout, stderr } = await restricted().run(twice);
        expect(stdout.split(prints), stderr).toHaveLength(3);
        expect(code, stderr).toBe(0);
        const requests = (await world().arrivals()).filter(isRequest);
        const fitting = requests.filter(
          ({ host, url, method }) =>
            host === sends.host && (sends.url === undefined || sends.url === url) && (sends.method ?? method) === method,
        );
        const withSecret = fitting.filter(({ headers }) => Object.entries(sends.headers).every(([name, value]) => headers[name] === value));
        expect(withSecret.length, JSON.stringify(requests)).toBeGreaterThanOrEqual(2);
      });
    }

    it('a push has arrived as it was', () => {
      const repository = join(world().directory, 'git/team/project.git');
      expect(execFileSync('git', ['--git-dir', repository, 'cat-file', '-s', 'pushed:large'], { encoding: 'utf8' })).toBe('3000000\n');
    });

    it('carries large bodies both ways and several requests over one connection', async () => {
      const secret = '-H "Authorization: Bearer $API_KEY"';
      await world().arrivals();
      const { stdout, stderr } = await restricted().run(
        `curl -sS ${secret} https://api.test/megabytes/20 | wc -c; head -c 5000000 /dev/zero | curl -sS ${secret} -T - https://api.test/upload; ` +
          `head -c 2000000 /dev/zero >body; curl -sSv ${secret} --data-binary @body https://api.test/upload 2>log; grep -io 'expect: 100-continue\\|100 continue' log; ` +
          `curl -sS ${secret} -o /dev/null -w '%{num_connects}\\n' https://api.test/ -o /dev/null https://api.test/chunked -o /dev/null https://api.test/events; ` +
          `curl -sS ${secret} https://api.test/events`,
      );
      const events = 'data: event 1\n\ndata: event 2\n\ndata: event 3\n\n';
      expect(stdout, stderr).toBe(`20971520\n5000000 bytes\n2000000 bytes\nExpect: 100-continue\n100 Continue\n1\n0\n0\n${events}`);
      for (const { headers } of (await world().arrivals()).filter(isRequest)) expect(headers.authorization).toBe(`Bearer ${API_KEY}`);
    });
  },
  secrets,
);
