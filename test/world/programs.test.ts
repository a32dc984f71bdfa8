import { describe, expect, it } from 'vitest';
import type { Arrival } from './records.ts';
import { describeRestricted, proxyVariables } from './restricted.ts';
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

const viaPython = {
  urllib: 'import urllib.request as r; print(r.urlopen("https://api.test/").read().decode())',
  requests: 'from pip._vendor import requests; print(requests.get("https://api.test/").text)',
  socket: [
    'import socket, ssl',
    's = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test")',
    's.sendall(b"GET / HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n")',
    'while data := s.recv(4096): print(data.decode())',
  ].join('\n'),
  database: 'import socket; s = socket.create_connection(("db.test", 5432)); s.sendall(b"SELECT 1"); print("answer", s.recv(99).decode())',
} as const;

const fetchIt = "fetch('https://api.test/').then((response) => response.text()).then(console.log)";

interface Program {
  title: string;
  command: string;
  /** What it prints when it works. */
  prints: string;
  /** What then arrived in the world. */
  arrives: Partial<Arrival>;
  /** Programs of this machine, below /usr/bin. */
  needs?: readonly string[];
  /** Why it cannot be tried here. */
  missing?: string | undefined;
}

const api = { prints: 'hello from api.test', arrives: { kind: 'tls-name', port: 443, name: 'api.test' } } as const;

const java = `class Get { public static void main(String[] a) throws Exception {
  var factory = javax.net.ssl.SSLContext.getInstance("TLS");
  var store = java.security.KeyStore.getInstance(java.security.KeyStore.getDefaultType());
  store.load(null, null);
  var made = java.security.cert.CertificateFactory.getInstance("X.509");
  store.setCertificateEntry("world", made.generateCertificate(new java.io.FileInputStream(System.getenv("SSL_CERT_FILE"))));
  var trust = javax.net.ssl.TrustManagerFactory.getInstance(javax.net.ssl.TrustManagerFactory.getDefaultAlgorithm());
  trust.init(store);
  factory.init(null, trust.getTrustManagers(), null);
  var client = java.net.http.HttpClient.newBuilder().sslContext(factory).build();
  var request = java.net.http.HttpRequest.newBuilder(java.net.URI.create("https://api.test/")).build();
  System.out.println(client.send(request, java.net.http.HttpResponse.BodyHandlers.ofString()).body());
} }`;

const programs: readonly Program[] = [
  { title: 'curl over HTTPS', needs: ['curl'], command: 'curl -sSf https://api.test/', ...api },
  {
    ...{ title: 'curl over HTTP', needs: ['curl'], command: 'curl -sSf http://plain.test/', prints: 'hello from plain.test' },
    arrives: { kind: 'request', port: 80, host: 'plain.test', method: 'GET', url: '/' },
  },
  { title: 'wget', needs: ['wget'], command: 'wget -q --ca-certificate="$SSL_CERT_FILE" -O - https://api.test/', ...api },
  {
    ...{
      title: 'git over HTTPS',
      needs: ['git'],
      command: 'rm -rf project; git clone -q https://github.com/team/project.git; cat project/readme',
    },
    ...{ prints: 'tiny-git works', arrives: { kind: 'tls-name', port: 443, name: 'github.com' } },
  },
  {
    ...{ title: 'npm', needs: ['npm', 'node'] },
    command: 'rm -rf node_modules; npm install --no-audit --no-fund tiny-npm >&2; node -p "require(\'tiny-npm\')"',
    ...{ prints: 'tiny-npm works', arrives: { kind: 'tls-name', port: 443, name: 'registry.npmjs.org' } },
  },
  {
    ...{ title: 'pip', needs: ['python3'] },
    command:
      'rm -rf target; python3 -m pip --disable-pip-version-check -q install --target target tiny-pip; grep -h works target/tiny_pip.py',
    ...{ prints: 'tiny-pip works', arrives: { kind: 'tls-name', port: 443, name: 'files.pythonhosted.org' } },
  },
  { title: 'python urllib', needs: ['python3'], command: `python3 -c ${quoted(viaPython.urllib)}`, ...api },
  { title: 'python requests', needs: ['python3'], command: `python3 -c ${quoted(viaPython.requests)}`, ...api },
  { title: 'a python socket with TLS', needs: ['python3'], command: `python3 -c ${quoted(viaPython.socket)}`, ...api },
  {
    ...{
      title: 'a client of a database port',
      needs: ['python3'],
      command: `python3 -c ${quoted(viaPython.database)}`,
      prints: 'answer SELECT 1',
    },
    arrives: { kind: 'bytes', port: 5432, text: 'SELECT 1' },
  },
  { title: 'the node of this machine', needs: ['node'], command: `node -e ${quoted(fetchIt)}`, ...api },
  { title: 'node 24', command: `/opt/node24 -e ${quoted(fetchIt)}`, ...api },
  {
    title: 'gh',
    needs: ['gh'],
    command: 'GH_TOKEN=token-of-nobody gh api user',
    prints: 'hello from api.github.com',
    arrives: { kind: 'request', host: 'api.github.com', url: '/user' },
  },
  {
    title: 'go',
    needs: ['go'],
    command: goGet,
    prints: 'tiny-go works',
    arrives: { kind: 'request', host: 'proxy.golang.org', url: goArchive },
  },
  {
    title: 'cargo',
    missing: cargoMissing,
    command: cargoFetch('"1"'),
    prints: 'tiny-cargo works',
    arrives: { kind: 'request', host: 'static.crates.io', url: cargoArchive },
  },
  { title: 'java', needs: ['java', 'javac'], command: javaRun(java), ...api },
  {
    ...{ title: 'git over SSH', needs: ['git', 'ssh'] },
    command:
      'export GIT_SSH_COMMAND="ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"; rm -rf over-ssh; ' +
      'git clone -q ssh://git@github.com/team/project.git over-ssh; cat over-ssh/readme',
    ...{ prints: 'tiny-git works', arrives: { kind: 'connection', port: 22 } },
  },
];

const aptPrograms = (kind: string): readonly Program[] =>
  (['http', 'https'] as const).map((scheme) => ({
    title: `apt over ${scheme.toUpperCase()}`,
    needs: aptNeeds(kind),
    command: aptGet(kind, `${scheme}://deb.debian.org/debian`, { options: '-o Acquire::https::CaInfo="$SSL_CERT_FILE"' }),
    prints: 'tiny-deb works',
    arrives: { kind: 'request', port: scheme === 'http' ? 80 : 443, host: 'deb.debian.org', url: aptArchive },
  }));

const settings = { allow: ['api.test', 'plain.test:80', 'db.test:5432'], direct_ports: [22, 80, 443] };

await describeRestricted(settings, ({ kind, world, restricted }) => {
  describe.each([
    ['with the variables of the proxy', ''],
    ['without the variables of the proxy', `unset ${proxyVariables}; `],
  ])('%s', (_, prefix) => {
    for (const program of [...programs, ...aptPrograms(kind)]) {
      const { title, command, prints, arrives } = program;
      const missing = whyMissing(program);
      it.skipIf(missing)(`lets ${title} reach an allowed host${missing ? `: ${missing}` : ''}`, async () => {
        await world().arrivals();
        const { code, stdout, stderr } = await restricted().run(`(${prefix}set -e; ${command})`);
        expect(stdout, stderr).toContain(prints);
        expect(code, stderr).toBe(0);
        expect(await world().arrivals()).toContainEqual(expect.objectContaining(arrives));
      });
    }

    it('carries large bodies both ways, and events as they come', async () => {
      const { stdout, stderr } = await restricted().run(
        `${prefix}curl -sS https://api.test/megabytes/20 | wc -c; head -c 5000000 /dev/zero | curl -sS -T - https://api.test/upload; curl -sSN https://api.test/events`,
      );
      expect(stdout, stderr).toBe('20971520\n5000000 bytes\ndata: event 1\n\ndata: event 2\n\ndata: event 3\n\n');
    });
  });
});
