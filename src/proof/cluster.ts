import type { ProofLine } from '../core/proof.ts';
import { type Ground, line, unanswered } from './ground.ts';

/** Where clusters put the tokens of the account that a container runs as. */
const tokens = [
  '/var/run/secrets/kubernetes.io/serviceaccount/token',
  '/run/secrets/kubernetes.io/serviceaccount/token',
  '/var/run/secrets/eks.amazonaws.com/serviceaccount/token',
  '/var/run/secrets/azure/tokens/azure-identity-token',
];

/** A sandbox may run in a cluster, itself or with this machine. Nothing is contacted. */
export async function checkCluster(ground: Ground): Promise<ProofLine> {
  const tried = 'Find a token with which a cluster lets its containers in, or the address of its API in the environment.';
  const check = 'cluster-access';
  const answers = await Promise.all(tokens.map(async (path) => ({ path, answer: await ground.inside.ask('hash', path) })));
  const found = answers.filter(({ answer }) => answer?.outcome === 'present' || answer?.outcome === 'refused').map(({ path }) => path);
  const address = ground.inside.fact('cluster-api');
  if (address !== undefined) found.push(`the address ${address}`);
  if (found.length > 0) return line(check, tried, 'broken', `It is there: ${found.join(', ')}.`);
  if (answers.some(({ answer }) => answer?.outcome !== 'absent')) return unanswered(check, tried);
  return line(check, tried, 'held', 'Neither is there.');
}
