import * as z from 'zod';
import { HermeticError } from '../../core/errors.ts';
import type { BackendContext } from '../context.ts';

export interface VercelCredentials {
  token: string;
  teamId: string;
  projectId: string;
}

/** The parts of an OIDC token that say whose it is. */
const claims = z.object({ owner_id: z.string().min(1), project_id: z.string().min(1) });

const hint =
  'Set VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID in the environment or .env. On Vercel itself VERCEL_OIDC_TOKEN is enough, which lasts 12 h elsewhere.';

/** Throws when they are missing or incomplete. Security: only from these variables, never from files of the Vercel command line. */
export function vercelCredentials(environment: BackendContext['environment']): VercelCredentials {
  const { VERCEL_TOKEN: token, VERCEL_OIDC_TOKEN: oidc } = environment;
  if (!token && oidc) return fromOidc(oidc);
  const names = ['VERCEL_TOKEN', 'VERCEL_TEAM_ID', 'VERCEL_PROJECT_ID'] as const;
  const missing = names.filter((name) => !environment[name]);
  if (missing.length > 0) {
    throw new HermeticError('backend/not-permitted', `Vercel credentials are missing: ${missing.join(', ')}.`, { hint });
  }
  const [teamId = '', projectId = ''] = [environment.VERCEL_TEAM_ID, environment.VERCEL_PROJECT_ID];
  return { token: token ?? '', teamId, projectId };
}

function fromOidc(token: string): VercelCredentials {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const { owner_id: teamId, project_id: projectId } = claims.parse(payload);
    return { token, teamId, projectId };
  } catch {
    throw new HermeticError('backend/not-permitted', 'VERCEL_OIDC_TOKEN is not a token of a Vercel project.', { hint });
  }
}
