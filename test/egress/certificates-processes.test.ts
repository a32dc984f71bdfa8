import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { HostCertificates, makeAuthority } from '../../src/egress/certificates.ts';
import { javaKeyStore, pemBundle, trustedRoots } from '../../src/egress/trust-files.ts';
import { itNeeding } from '../needs.ts';

const directory = mkdtempSync(join(tmpdir(), 'hermetic-certificates-'));
afterAll(() => rmSync(directory, { recursive: true }));

const authority = makeAuthority('Hermetic test');
const certificates = new HostCertificates(authority);

const hosts = ['api.test', `${'a'.repeat(60)}.${'b'.repeat(60)}.test`, '203.0.113.7', '2001:db8::7'];

for (const host of hosts) {
  itNeeding(['openssl'], `OpenSSL accepts a certificate for ${host} in its strictest mode`, () => {
    const { certificate } = certificates.for(host);
    const [root, leaf] = ['root.pem', 'leaf.pem'].map((name) => join(directory, name)) as [string, string];
    writeFileSync(root, authority.certificate);
    writeFileSync(leaf, certificate);
    const name = host.includes(':') || /^[\d.]+$/.test(host) ? ['-verify_ip', host] : ['-verify_hostname', host];
    const words = ['verify', '-x509_strict', '-purpose', 'sslserver', ...name, '-CAfile', root, leaf];
    expect(execFileSync('openssl', words, { encoding: 'utf8' })).toContain('OK');
  });
}

it('a TLS client that trusts the authority connects, and one that does not refuses', async () => {
  const server = createServer({ ...tlsOptions('api.test') }, (socket) => socket.end('hello')).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const attempt = (ca: string | undefined): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, servername: 'api.test', ca });
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  expect(await attempt(authority.certificate)).toBe('hello');
  expect(await attempt(undefined)).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
  server.close();
});

function tlsOptions(host: string) {
  const { certificate, key } = certificates.for(host);
  return { cert: certificate, key };
}

it('certificates are valid from a day ago, those of hosts for 30 days and the authority for two years', () => {
  const days = (pem: string): number[] => {
    const { validFromDate, validToDate } = new X509Certificate(pem);
    return [validFromDate, validToDate].map((date) => Math.round((date.getTime() - Date.now()) / 86_400_000));
  };
  expect(days(certificates.for('api.test').certificate)).toEqual([-1, 30]);
  expect(days(authority.certificate)).toEqual([-1, 730]);
});

itNeeding(['openssl'], 'the bundle has every root that this program trusts and the authority', () => {
  const file = join(directory, 'bundle.pem');
  writeFileSync(file, pemBundle([...trustedRoots(), authority.certificate]));
  const bundle = execFileSync('openssl', ['storeutl', '-noout', '-certs', file], { encoding: 'utf8' });
  expect(Number(/Total found: (\d+)/.exec(bundle)?.[1])).toBe(trustedRoots().length + 1);
});

it('the key store for Java has the header, the number of certificates and the digest that the format asks for', () => {
  const store = javaKeyStore([authority.certificate, authority.certificate]);
  expect([store.readUInt32BE(0), store.readUInt32BE(4), store.readUInt32BE(8)]).toEqual([0xfeedfeed, 2, 2]);
  expect(store.length).toBeGreaterThan(2 * new X509Certificate(authority.certificate).raw.length);
});
