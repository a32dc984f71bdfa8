import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import type { SlackClient } from './client.ts';
import { appTokenHint, isTokenRefused, reasonOf, unusable } from './failures.ts';
import { appTokenName, openConnection } from './link.ts';
import type { Workspaces } from './workspaces.ts';

export interface IntroductionParts {
  workspaces: Workspaces;
  app: SlackClient;
  health: Health;
}

/** Where to connect; undefined when Slack cannot be asked now. Rejects when it refuses a token without which nothing works. */
export async function introduce({ workspaces, app, health }: IntroductionParts, signal: AbortSignal): Promise<string | undefined> {
  try {
    const failure = await workspaces.introduce(signal);
    if (failure) throw failure;
    return await openConnection(app, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!(error instanceof CallError)) throw error;
    const reason = reasonOf(error, appTokenName);
    if (isTokenRefused(error)) throw unusable(reason, appTokenHint);
    health.report('connection', reason);
    return undefined;
  }
}
