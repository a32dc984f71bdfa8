import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { findDocker } from '../../../src/backends/docker/discover.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import { exitsContract } from '../../contracts/sandbox/exits.ts';
import { filesContract } from '../../contracts/sandbox/files.ts';
import { killContract } from '../../contracts/sandbox/kill.ts';
import { describeBackend } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { type Relay, startRelay } from '../../relay.ts';
import { until } from '../../until.ts';
import { Authority } from '../../world/authority.ts';

const socket = '/var/run/docker.sock';
describeNeeding(['openssl'], 'an engine that is reached by TLS', async () => {
  const root = mkdtempSync(join(tmpdir(), 'hermetic-tls-'));
  const [authority, stranger] = ['ours', 'strange'].map((name) => new Authority(madeDirectory(name))) as [Authority, Authority];
  const certPath = certificates('client', authority);
  const relays: Relay[] = [];
  const relay = await start(authority.sign('localhost'));
  const host = relay.host.replace('127.0.0.1', 'localhost');
  const port = relay.host.split(':').at(-1);

  afterAll(() => {
    for (const one of relays) one.close();
    rmSync(root, { recursive: true });
  });
  afterEach(() => void vi.unstubAllEnvs());

  function madeDirectory(name: string): string {
    const directory = join(root, name);
    mkdirSync(directory, { recursive: true });
    return directory;
  }

  /** The files that the docker program has: a client of this authority, which trusts `trusted`. */
  function certificates(name: string, of: Authority, trusted = of, parent = ''): string {
    const directory = madeDirectory(join(parent, name));
    const { cert, key } = of.sign('client.test');
    writeFileSync(join(directory, 'cert.pem'), cert);
    writeFileSync(join(directory, 'key.pem'), key, { mode: 0o600 });
    cpSync(trusted.certificateFile, join(directory, 'ca.pem'));
    return directory;
  }

  /** The real engine behind this certificate, for clients of our authority. */
  async function start(server: { cert: Buffer; key: Buffer }): Promise<Relay> {
    const options = { ...server, ca: readFileSync(authority.certificateFile), requestCert: true, rejectUnauthorized: true };
    const started = await startRelay(socket, undefined, options);
    relays.push(started);
    return started;
  }

  /** A server that says why it refuses a client. With TLS 1.3 the reason is lost when the client has sent something already. */
  async function startStrictServer(): Promise<string> {
    const { cert, key } = authority.sign('localhost');
    const directory = madeDirectory('strict');
    writeFileSync(join(directory, 'cert.pem'), cert);
    writeFileSync(join(directory, 'key.pem'), key);
    const files = ['-cert', join(directory, 'cert.pem'), '-key', join(directory, 'key.pem'), '-CAfile', authority.certificateFile];
    const server = spawn('openssl', ['s_server', '-accept', '127.0.0.1:0', ...files, '-Verify', '1', '-verify_return_error', '-tls1_2'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    let printed = '';
    server.stdout.on('data', (data: Buffer) => {
      printed += data.toString();
    });
    const [, port] = await until('it listens', () => /^ACCEPT .*:(\d+)$/m.exec(printed));
    return `tcp://localhost:${port}`;
  }

  /** With a home in which there is nothing but what a test puts there. */
  const find = async (environment: Record<string, string>, configured: { dockerHost?: string; certPath?: string } = {}) => {
    const engine = await findDocker({ environment: { HOME: join(root, 'home'), PATH: '', ...environment }, ...configured });
    return await engine.info().finally(() => engine.close());
  };

  const failure = async (environment: Record<string, string>, configured: { dockerHost?: string; certPath?: string } = {}) => {
    const error = await find(environment, configured).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(HermeticError);
    return error as HermeticError;
  };

  function context(name: string, to: string, skipsVerification = false): string {
    const hash = createHash('sha256').update(name).digest('hex');
    const meta = madeDirectory(join('home/.docker/contexts/meta', hash));
    const endpoint = { Host: to, SkipTLSVerify: skipsVerification };
    writeFileSync(join(meta, 'meta.json'), JSON.stringify({ Name: name, Metadata: {}, Endpoints: { docker: endpoint } }));
    return join('home/.docker/contexts/tls', hash);
  }

  await describeBackend(
    'docker',
    (engine) => {
      describe('exit codes', () => exitsContract(engine));
      describe('killing commands', () => killContract(engine));
      describe('files', () => filesContract(engine));

      it('finds an engine with TLS by DOCKER_HOST, by the configuration and by a context', async () => {
        const verify = { DOCKER_HOST: host, DOCKER_TLS_VERIFY: '1' };
        expect(await find({ ...verify, DOCKER_CERT_PATH: certPath })).toMatchObject({ OSType: 'linux' });
        expect(await find({ DOCKER_HOST: host, DOCKER_TLS: '1', DOCKER_CERT_PATH: certPath })).toMatchObject({ OSType: 'linux' });
        expect(await find({}, { dockerHost: host, certPath })).toMatchObject({ OSType: 'linux' });
        expect(await find({}, { dockerHost: `https://localhost:${port}`, certPath })).toMatchObject({ OSType: 'linux' });
        expect(await find({ DOCKER_HOST: `https://localhost:${port}`, DOCKER_CERT_PATH: certPath })).toMatchObject({ OSType: 'linux' });
        cpSync(certPath, join(root, 'home/.docker'), { recursive: true });
        expect(await find(verify)).toMatchObject({ OSType: 'linux' });
        const material = context('remote', host);
        certificates('docker', authority, authority, material);
        expect(await find({ DOCKER_CONTEXT: 'remote' })).toMatchObject({ OSType: 'linux' });
        rmSync(join(root, 'home'), { recursive: true });
      });

      it.each([
        ['expired', /has expired/, /Renew/],
        ['otherName', /belongs to another name/, /subjectAltName/],
        ['unknownAuthority', /no authority that is trusted/, /ca\.pem/],
      ] as const)('refuses an engine whose certificate is not valid, and sends it nothing: %s', async (flaw, message, hint) => {
        // Security: with this the program would accept any certificate, if it were left to decide.
        vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
        const liar = await start(authority.sign('localhost', { flaw }));
        const error = await failure({ DOCKER_HOST: liar.host.replace('127.0.0.1', 'localhost') }, { certPath });
        expect(error).toMatchObject({ code: 'backend/unavailable', message: expect.stringMatching(message) });
        expect(error.hint).toMatch(hint);
        expect(liar.requests).toEqual([]);
      });

      it('refuses an engine that another authority vouches for', async () => {
        const error = await failure({ DOCKER_HOST: host }, { certPath: certificates('misled', authority, stranger) });
        expect(error).toMatchObject({ code: 'backend/unavailable', message: expect.stringMatching(/no authority that is trusted/) });
      });

      it('refuses an engine by its address when its certificate has only its name', async () => {
        expect((await failure({ DOCKER_HOST: relay.host }, { certPath })).message).toMatch(/belongs to another name/);
      });

      it('says when the engine does not accept our certificate, or wants one and there is none', async () => {
        const foreign = certificates('foreign', stranger, authority);
        const bare = madeDirectory('bare');
        cpSync(authority.certificateFile, join(bare, 'ca.pem'));
        for (const of of [foreign, bare]) {
          const refused = await failure({ DOCKER_HOST: await startStrictServer() }, { certPath: of });
          expect(refused).toMatchObject({
            code: 'backend/not-permitted',
            message: expect.stringMatching(/does not accept our certificate/),
          });
          const cut = await failure({ DOCKER_HOST: host }, { certPath: of });
          expect(cut).toMatchObject({ code: 'backend/not-permitted', hint: expect.stringMatching(/cert\.pem must be signed/) });
        }
      });

      it('says which file of the certificates is missing, or cannot be used', async () => {
        const missing = await failure({ DOCKER_HOST: host, DOCKER_TLS_VERIFY: '1' });
        expect(missing).toMatchObject({ code: 'backend/unavailable', message: expect.stringContaining(join(root, 'home/.docker/ca.pem')) });
        const broken = certificates('broken', authority);
        rmSync(join(broken, 'key.pem'));
        expect((await failure({ DOCKER_HOST: host }, { certPath: broken })).message).toContain(join(broken, 'key.pem'));
        writeFileSync(join(broken, 'key.pem'), authority.sign('other.test').key);
        expect(await failure({ DOCKER_HOST: host }, { certPath: broken })).toMatchObject({
          code: 'backend/unavailable',
          message: expect.stringContaining(`in ${broken} cannot be used`),
        });
        writeFileSync(join(broken, 'ca.pem'), 'not a certificate');
        expect((await failure({ DOCKER_HOST: host }, { certPath: broken })).code).toBe('backend/unavailable');
      });

      it('says when an engine wants TLS or does not know it', async () => {
        const plain = await failure({ DOCKER_HOST: host });
        expect(plain.code).toMatch(/^backend\//);
        const without = await startRelay(socket);
        relays.push(without);
        const port = without.host.split(':').at(-1);
        expect(await failure({ DOCKER_HOST: `tcp://localhost:${port}` }, { certPath })).toMatchObject({
          code: 'backend/unavailable',
          message: expect.stringMatching(/does not speak TLS/),
          hint: expect.stringMatching(/2376/),
        });
      });

      it('refuses a context that does not verify its engine', async () => {
        const material = context('careless', host, true);
        certificates('docker', authority, authority, material);
        const error = await failure({ DOCKER_CONTEXT: 'careless' });
        expect(error).toMatchObject({ code: 'backend/unavailable', message: expect.stringMatching(/skip-tls-verify/) });
        expect(error.hint).toMatch(/docker context update careless/);
      });
    },
    { title: 'docker by TLS', docker: { docker_host: host, docker_cert_path: certPath }, maxBytesAhead: 32 * 1024 * 1024 },
  );
});
