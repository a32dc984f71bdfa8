import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as z from 'zod';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { within } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { started } from '../../lib/started.ts';
import type { Cluster, ExecPlugin } from './kubeconfig.ts';

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
/** Shorter than the deadline of the request that waits for it. */
const timeoutMs = 20_000;
const maxBytes = 1024 * 1024;
const maxComplaint = 2_000;

/** The variables without which a program finds neither its parts nor its files. Security: the gateway's own environment holds its keys. */
const allowed = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TMPDIR'];

const answer = z.object({
  kind: z.literal('ExecCredential'),
  apiVersion: z.string(),
  status: z.object({
    token: z.string().min(1).optional(),
    clientCertificateData: z.string().min(1).optional(),
    clientKeyData: z.string().min(1).optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});

export interface PluginCredential {
  token: string | undefined;
  certificate: { cert: string; key: string } | undefined;
  /** When it must be asked for again; undefined: when the API server refuses it. */
  expiresAt: number | undefined;
}

/** Runs a credential plugin of a kubeconfig, by the protocol of `client.authentication.k8s.io`. */
export async function runExecPlugin(
  plugin: ExecPlugin,
  cluster: Cluster,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<PluginCredential> {
  const { command, args, env, apiVersion } = plugin;
  if (!versions.includes(apiVersion)) throw failed(command, `it speaks ${apiVersion}, and ${versions.join(' or ')} is needed`);
  if (plugin.interactiveMode === 'Always') throw failed(command, 'it needs a person at a terminal');
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(plugin.provideClusterInfo && { cluster: told(cluster) }) },
  };
  const kept = Object.fromEntries(allowed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])));
  const named = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const output = await outputOf(command, args ?? [], { ...kept, ...named, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
  const parsed = answer.safeParse(jsonOf(output));
  if (!parsed.success || parsed.data.apiVersion !== apiVersion) throw failed(command, 'its answer is not a credential');
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = parsed.data.status;
  if (token === undefined && (cert === undefined || key === undefined))
    throw failed(command, 'its answer has neither a token nor a certificate');
  const certificate = cert !== undefined && key !== undefined ? { cert, key } : undefined;
  return { token, certificate, expiresAt: expirationTimestamp === undefined ? undefined : Date.parse(expirationTimestamp) };
}

function told(cluster: Cluster): object {
  return {
    server: cluster.server,
    'certificate-authority-data': cluster['certificate-authority-data'],
    'tls-server-name': cluster['tls-server-name'],
  };
}

async function outputOf(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = begin(command, args, env);
  const stdout = new ByteStore(maxBytes);
  let complaint = '';
  let isTooMuch = false;
  // With what it started, which may have its streams open.
  const end = (): void => {
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  child.stdout.on('data', (data: Buffer) => {
    if (stdout.push(data)) return;
    isTooMuch = true;
    end();
  });
  child.stderr.on('data', (data: Buffer) => {
    if (complaint.length < maxComplaint) complaint += data.toString();
  });
  const [code] = (await within(timeoutMs, once(child, 'close'), () => {
    end();
    throw failed(command, `it did not answer in ${timeoutMs / 1000} s`);
  })) as [number | null];
  if (isTooMuch) throw failed(command, `it printed more than ${maxBytes} bytes`);
  if (code !== 0) throw failed(command, `it ended with ${code}: ${printable(complaint).slice(0, 300)}`);
  return stdout.take().toString();
}

function begin(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    return started(spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }));
  } catch (error) {
    throw failed(command, errorText(error));
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Security: what the program prints is never repeated, because it prints tokens. */
function failed(command: string, why: string): HermeticError {
  return new HermeticError('backend/not-permitted', `The credential plugin ${command} of the kubeconfig failed: ${why}.`, {
    hint: 'Try it by hand with kubectl get pods. Variables that it needs belong in the env of its entry in the kubeconfig.',
  });
}
