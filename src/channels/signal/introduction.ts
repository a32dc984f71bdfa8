import type { Daemon } from './daemon.ts';
import { DaemonError, unusable } from './failures.ts';
import { accountId } from './ids.ts';
import type { Self } from './self.ts';

const introductionMs = 8000;

/**
 * Whether the daemon has our account. `false`: it was started for one account, and does not say which. Rejects with `CallError` when it cannot be
 * asked, and with `channel/unusable` when it has others.
 */
export async function hasAccount(daemon: Daemon, self: Self, signal?: AbortSignal): Promise<boolean> {
  try {
    const accounts = await daemon.call('listAccounts', {}, { timeoutMs: introductionMs, signal });
    const ours = (Array.isArray(accounts) ? (accounts as ({ number?: unknown; aci?: unknown } | null)[]) : []).find(
      (one) => one?.number === self.account || accountId(one?.aci) === self.account,
    );
    if (!ours) throw unusable('signal-cli has no such account.');
    self.learn(ours.aci);
    return true;
  } catch (error) {
    if (error instanceof DaemonError && error.isUnknownMethod) return false;
    if (error instanceof DaemonError && error.status === 401) throw unusable('signal-cli has no such account.');
    throw error;
  }
}
