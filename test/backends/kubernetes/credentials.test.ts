import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { KubernetesApi } from '../../../src/backends/kubernetes/api.ts';
import { type CredentialOptions, Credentials } from '../../../src/backends/kubernetes/credentials.ts';
import { describeNeeding } from '../../needs.ts';
import { Authority } from '../../world/authority.ts';
import { useCluster } from './rig.ts';

describeNeeding(['openssl'], 'credentials of a cluster', async () => {
  const { cluster } = await useCluster();
  const path = '/api/v1/namespaces/hermetic-sandboxes/pods';
  const list = (options: Partial<CredentialOptions>): Promise<unknown> =>
    new KubernetesApi(new Credentials({ environment: {}, ...options })).list(path, {});
  const place = (name: string): string => {
    const directory = join(cluster.directory, name);
    mkdirSync(directory, { recursive: true });
    return directory;
  };

  afterEach(() => {
    cluster.tokens.clear();
    cluster.tokens.set('token-of-hermetic', 'hermetic');
  });

  /** A program that prints a credential, and keeps what it was started with. */
  function plugin(body: string): { command: string; log: string } {
    const directory = place(`plugin-${Math.random().toString(36).slice(2)}`);
    const log = join(directory, 'log');
    writeFileSync(join(directory, 'plugin'), `#!/bin/bash\nexport -p >>${log}\necho run >>${log}\n${body}\n`);
    chmodSync(join(directory, 'plugin'), 0o755);
    return { command: join(directory, 'plugin'), log };
  }

  const credential = (status: object): string =>
    `echo '${JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })}'`;
  const execUser = (command: string, more: object = {}) => ({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command, ...more } });

  describe('a kubeconfig', () => {
    it('lets in by a token, and by a token in a file that is read again when it is refused', async () => {
      await list({ kubeconfig: cluster.kubeconfig() });
      const file = join(place('tokens'), 'token');
      writeFileSync(file, 'old\n');
      cluster.tokens.set('old', 'hermetic');
      const api = new KubernetesApi(new Credentials({ environment: {}, kubeconfig: cluster.kubeconfig({ tokenFile: file }) }));
      await api.list(path, {});
      cluster.tokens.delete('old');
      cluster.tokens.set('renewed', 'hermetic');
      writeFileSync(file, 'renewed\n');
      await api.list(path, {});
    });

    it('lets in by a client certificate, as data and as files beside it', async () => {
      const { cert, key } = cluster.authority.sign('client', { user: 'hermetic' });
      const data = { 'client-certificate-data': cert.toString('base64'), 'client-key-data': key.toString('base64') };
      await list({ kubeconfig: cluster.kubeconfig(data) });
      const config = cluster.kubeconfig({ 'client-certificate': 'client.pem', 'client-key': 'client.key' });
      writeFileSync(join(config, '..', 'client.pem'), cert);
      writeFileSync(join(config, '..', 'client.key'), key);
      await list({ kubeconfig: config });
    });

    it('is found by KUBECONFIG, a list in which the first entry counts, and in the home', async () => {
      const [one, other] = [cluster.kubeconfig(), cluster.kubeconfig({ token: 'wrong' })];
      await list({ environment: { KUBECONFIG: `${one}:${other}` } });
      await expect(list({ environment: { KUBECONFIG: `${other}:${one}` } })).rejects.toMatchObject({ code: 'backend/not-permitted' });
      const home = place('home');
      mkdirSync(join(home, '.kube'));
      writeFileSync(join(home, '.kube', 'config'), readFileSync(one));
      await list({ environment: { HOME: home } });
      await expect(list({ environment: { HOME: home }, context: 'another' })).rejects.toThrow('no context "another"');
    });

    it.each<[string, object, object, RegExp]>([
      ['skips the check of certificates', { token: 't' }, { 'insecure-skip-tls-verify': true }, /insecure-skip-tls-verify is refused/],
      ['goes through a proxy', { token: 't' }, { 'proxy-url': 'http://localhost:1' }, /proxy-url/],
      ['sends its token without TLS', { token: 't' }, { server: 'http://localhost:1' }, /https/],
      ['wants to be another user', { token: 't', as: 'admin' }, {}, /has as/],
      ['has a password', { username: 'u', password: 'p' }, {}, /username/],
      ['is incomplete', { exec: { apiVersion: 'v1' } }, {}, /exec\.command/],
    ])('is refused when it %s', async (_, user, place, message) => {
      await expect(list({ kubeconfig: cluster.kubeconfig(user, place) })).rejects.toThrow(message);
    });

    it('never repeats its content in an error', async () => {
      const file = join(place('damaged'), 'config');
      writeFileSync(file, 'users: [{name: a, user: {token: "hunter2}}]\n');
      const error = await list({ kubeconfig: file }).catch((failure: Error) => failure);
      expect(String(error)).toContain('cannot be read');
      expect(JSON.stringify(error) + String(error)).not.toContain('hunter2');
    });
  });

  describe('a credential plugin', () => {
    it('is asked once until its credential ends, and again after a refusal', async () => {
      cluster.tokens.set('first', 'hermetic');
      const { command, log } = plugin(
        `if [[ -e $0.second ]]; then ${credential({ token: 'second' })}; else ${credential({ token: 'first' })}; fi`,
      );
      const api = new KubernetesApi(
        new Credentials({ environment: { PATH: process.env.PATH }, kubeconfig: cluster.kubeconfig(execUser(command)) }),
      );
      for (let round = 0; round < 3; round++) await api.list(path, {});
      const runs = (): number => readFileSync(log, 'utf8').match(/^run$/gm)?.length ?? 0;
      expect(runs()).toBe(1);
      cluster.tokens.delete('first');
      cluster.tokens.set('second', 'hermetic');
      writeFileSync(`${command}.second`, '');
      await api.list(path, {});
      expect(runs()).toBe(2);
    });

    it('is asked again when its credential is about to end', async () => {
      const expirationTimestamp = new Date(Date.now() + 1000).toISOString();
      const { command, log } = plugin(credential({ token: 'token-of-hermetic', expirationTimestamp }));
      const api = new KubernetesApi(
        new Credentials({ environment: { PATH: process.env.PATH }, kubeconfig: cluster.kubeconfig(execUser(command)) }),
      );
      for (let round = 0; round < 2; round++) await api.list(path, {});
      expect(readFileSync(log, 'utf8').match(/^run$/gm)).toHaveLength(2);
    });

    it('gives a certificate, and gets no variable of the program but those it needs and those that are named', async () => {
      const { cert, key } = cluster.authority.sign('client', { user: 'hermetic' });
      const { command, log } = plugin(
        credential({ clientCertificateData: cert.toString(), clientKeyData: key.toString() }).replaceAll("'", "'"),
      );
      const environment = { PATH: process.env.PATH, HOME: '/nowhere', MODEL_API_KEY: 'hunter2', AWS_PROFILE: 'mine' };
      const user = execUser(command, { env: [{ name: 'NAMED', value: 'yes' }], provideClusterInfo: true });
      await list({ environment, kubeconfig: cluster.kubeconfig(user) });
      const seen = readFileSync(log, 'utf8');
      expect(seen).toContain('NAMED="yes"');
      expect(seen).toContain('KUBERNETES_EXEC_INFO');
      expect(seen).toContain(cluster.address);
      expect(seen).not.toMatch(/hunter2|AWS_PROFILE|VITEST|npm_/);
    });

    it.each([
      ['fails', 'echo no network >&2; exit 7', /no network/],
      ['prints something else', 'echo \'{"token":"x"}\'', /not a credential/],
      ['prints without end', 'yes', /more than/],
      ['gives nothing', credential({}), /neither a token/],
    ])('that %s is an error with the fix', async (_, body, message) => {
      const { command } = plugin(body);
      const failing = list({ environment: { PATH: process.env.PATH }, kubeconfig: cluster.kubeconfig(execUser(command)) });
      await expect(failing).rejects.toMatchObject({ code: 'backend/not-permitted', message: expect.stringMatching(message) });
    });

    it('that is missing, or needs a person, is an error', async () => {
      await expect(list({ kubeconfig: cluster.kubeconfig(execUser('/nowhere/plugin')) })).rejects.toMatchObject({
        code: 'backend/not-permitted',
      });
      const asking = execUser('/bin/true', { interactiveMode: 'Always' });
      await expect(list({ kubeconfig: cluster.kubeconfig(asking) })).rejects.toThrow('needs a person');
    });
  });

  describe('the service account of a pod', () => {
    it('lets in a program that runs in the cluster, and its token is read again', async () => {
      const directory = place('account');
      writeFileSync(join(directory, 'ca.crt'), cluster.authority.certificateText);
      writeFileSync(join(directory, 'token'), 'token-of-hermetic');
      const environment = {
        HOME: '/nowhere',
        KUBERNETES_SERVICE_HOST: 'localhost',
        KUBERNETES_SERVICE_PORT: new URL(cluster.address).port,
      };
      const api = new KubernetesApi(new Credentials({ environment, serviceAccountDirectory: directory }));
      await api.list(path, {});
      cluster.tokens.clear();
      cluster.tokens.set('rotated', 'hermetic');
      writeFileSync(join(directory, 'token'), 'rotated');
      await api.list(path, {});
    });

    it('is not found where there is none, and says what to configure', async () => {
      await expect(list({ environment: { HOME: '/nowhere' } })).rejects.toMatchObject({
        code: 'backend/not-installed',
        hint: expect.stringContaining('terminal.kubernetes_kubeconfig'),
      });
    });
  });

  it('never talks to a server whose certificate another authority signed', async () => {
    const directory = place('other-authority');
    const other = new Authority(directory).certificateText.toString('base64');
    const config = cluster.kubeconfig(undefined, { 'certificate-authority-data': other });
    await expect(list({ kubeconfig: config })).rejects.toMatchObject({
      code: 'backend/unavailable',
      message: expect.stringContaining('not trusted'),
    });
  });
});
