import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import { digestOf } from '../../lib/canonical-json.ts';
import { errorText } from '../../lib/error-text.ts';
import { readFileWithin } from '../../lib/read-file-within.ts';
import type { BackendContext } from '../context.ts';
import { type PluginCredential, runExecPlugin } from './exec-plugin.ts';
import { type ChosenContext, type Cluster, readKubeconfig, type User, wrong } from './kubeconfig.ts';

/** How to reach the API server at this moment, and as whom. */
export interface Access {
  /** https, without a slash at its end. */
  server: string;
  ca: string | undefined;
  certificate: { cert: string; key: string } | undefined;
  /** The name that its certificate must have, where that is not the one of the address. */
  serverName: string | undefined;
  token: string | undefined;
}

export interface CredentialOptions {
  environment: BackendContext['environment'];
  kubeconfig?: string | undefined;
  context?: string | undefined;
  /** Where a pod finds the account it runs as. */
  serviceAccountDirectory?: string | undefined;
}

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';
const maxBytes = 1024 * 1024;
/** Files are read again after so long: a cluster renews the tokens it wrote there. */
const freshMs = 60_000;
/** A credential is renewed so long before it ends. */
const marginMs = 30_000;

/** The credentials of one installation, read when they are needed. Construction does no input or output. */
export class Credentials {
  readonly #options: CredentialOptions;
  #known: { access: Promise<Access>; until: number } | undefined;
  #plugin: { key: string; credential: PluginCredential } | undefined;

  constructor(options: CredentialOptions) {
    this.#options = options;
  }

  /** Throws `backend/not-installed` when no cluster is configured. */
  access(): Promise<Access> {
    if (this.#known && this.#known.until > Date.now()) return this.#known.access;
    const access = this.#read();
    const known = { access, until: Date.now() + freshMs };
    this.#known = known;
    access.then(
      () => {
        known.until = Math.min(known.until, (this.#plugin?.credential.expiresAt ?? Number.POSITIVE_INFINITY) - marginMs);
      },
      () => {
        if (this.#known === known) this.#known = undefined;
      },
    );
    return access;
  }

  /** The API server has refused the last ones: they are read again, and a plugin is asked again. */
  renew(): void {
    this.#known = undefined;
    this.#plugin = undefined;
  }

  async #read(): Promise<Access> {
    const paths = this.#paths();
    if (paths) return await this.#accessOf(await readKubeconfig(paths, this.#options.context), paths);
    return await this.#ofServiceAccount();
  }

  /** undefined when there is no kubeconfig. One that is named counts, also when it is missing. */
  #paths(): string[] | undefined {
    const { kubeconfig, environment } = this.#options;
    const home = environment.HOME ?? homedir();
    if (kubeconfig !== undefined) return [kubeconfig.replace(/^~(?=\/)/, home)];
    const listed = (environment.KUBECONFIG ?? '').split(delimiter).filter(Boolean);
    if (listed.length > 0) return listed;
    const usual = join(home, '.kube', 'config');
    return existsSync(usual) ? [usual] : undefined;
  }

  async #ofServiceAccount(): Promise<Access> {
    const { environment, context, serviceAccountDirectory: directory = serviceAccount } = this.#options;
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
    if (!host || !port || context !== undefined || !existsSync(join(directory, 'token'))) {
      throw new HermeticError('backend/not-installed', 'No Kubernetes cluster is configured.', {
        hint: 'Name a kubeconfig in terminal.kubernetes_kubeconfig or KUBECONFIG, or run Hermetic in a pod with a service account.',
      });
    }
    const [token, ca] = await Promise.all([contentOf(join(directory, 'token')), contentOf(join(directory, 'ca.crt'))]);
    const address = host.includes(':') ? `[${host}]` : host;
    return { server: `https://${address}:${port}`, ca, certificate: undefined, serverName: undefined, token: token.trim() };
  }

  async #accessOf({ cluster, user }: ChosenContext, paths: readonly string[]): Promise<Access> {
    const server = checkedServer(cluster, paths);
    const { 'certificate-authority': file, 'certificate-authority-data': data, 'tls-server-name': serverName } = cluster;
    const ca = data !== undefined ? decoded(data) : file !== undefined ? await contentOf(file) : undefined;
    const plugin = await this.#pluginCredential(user, cluster);
    const certificate = await certificateOf(user);
    const token = user.token || (user.tokenFile === undefined ? undefined : (await contentOf(user.tokenFile)).trim());
    return { server, ca, serverName, certificate: certificate ?? plugin?.certificate, token: token ?? plugin?.token };
  }

  async #pluginCredential(user: User, cluster: Cluster): Promise<PluginCredential | undefined> {
    if (!user.exec || user.token || user.tokenFile !== undefined) return undefined;
    const key = digestOf([user.exec, cluster.server]);
    const isFresh = (until: number | undefined): boolean => until === undefined || until - marginMs > Date.now();
    if (this.#plugin?.key === key && isFresh(this.#plugin.credential.expiresAt)) return this.#plugin.credential;
    const credential = await runExecPlugin(user.exec, cluster, this.#options.environment);
    this.#plugin = { key, credential };
    return credential;
  }
}

/** Security: nothing that would send the credentials to another program than the API server. */
function checkedServer(cluster: Cluster, paths: readonly string[]): string {
  if (cluster['insecure-skip-tls-verify']) {
    const hint = 'Name the authority of the cluster in certificate-authority-data instead.';
    throw wrong(paths, 'insecure-skip-tls-verify is refused: any program on the way could take the credentials', hint);
  }
  if (cluster['proxy-url']) throw wrong(paths, 'proxy-url is not supported');
  const url = URL.parse(cluster.server);
  if (url?.protocol !== 'https:' || url.username !== '' || url.search !== '') throw wrong(paths, 'the server is not an https:// address');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

async function certificateOf(user: User): Promise<Access['certificate']> {
  const { 'client-certificate': certFile, 'client-certificate-data': certData, 'client-key': keyFile, 'client-key-data': keyData } = user;
  const cert = certData !== undefined ? decoded(certData) : certFile !== undefined ? await contentOf(certFile) : undefined;
  const key = keyData !== undefined ? decoded(keyData) : keyFile !== undefined ? await contentOf(keyFile) : undefined;
  return cert !== undefined && key !== undefined ? { cert, key } : undefined;
}

function decoded(data: string): string {
  return Buffer.from(data, 'base64').toString();
}

async function contentOf(path: string): Promise<string> {
  try {
    return (await readFileWithin(path, maxBytes)).toString();
  } catch (error) {
    throw new HermeticError(
      'backend/unavailable',
      `${path}, a file of the credentials of the cluster, cannot be read: ${errorText(error)}.`,
    );
  }
}
