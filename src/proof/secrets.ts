import { readdir, readFile, readlink } from 'node:fs/promises';
import type { ProofLine } from '../core/proof.ts';
import { type Ground, line } from './ground.ts';

/**
 * Values of secrets that are bound to hosts must not be inside. Security: this machine looks for them, in what the kernel shows of the processes
 * inside; no value is sent there.
 */
export async function checkSecrets({ host }: Ground, values: readonly string[]): Promise<ProofLine[]> {
  if (values.length === 0) return [];
  const check = 'secret-values';
  const tried = 'Find the value of a secret in the environment or the arguments of a process inside.';
  const namespace = host?.init.namespaces.get('pid');
  if (namespace === undefined) return [line(check, tried, 'unknown', 'This machine does not see the processes of the sandbox.')];
  const processes = await processesIn(namespace);
  if (processes.length === 0) return [line(check, tried, 'unknown', 'This user may not read the environment of the processes inside.')];
  const found = processes.filter((text) => values.some((value) => text.includes(value)));
  if (found.length > 0) return [line(check, tried, 'broken', `${found.length} of ${processes.length} processes inside have one.`)];
  return [line(check, tried, 'held', `None of ${values.length} is in one of the ${processes.length} processes there.`)];
}

/** The environments and arguments of the processes in a process namespace, as far as this user may read them. */
async function processesIn(namespace: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = pids.map(async (pid) => {
    if ((await readlink(`/proc/${pid}/ns/pid`).catch(() => '')) !== namespace) return [];
    const [environment, words] = await Promise.all(
      ['environ', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')),
    );
    return environment ? [`${environment}\0${words}`] : [];
  });
  return (await Promise.all(texts)).flat();
}
