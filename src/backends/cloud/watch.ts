import type { Attach } from '../../shell/streams/attached-command.ts';
import type { CloudProvider } from './provider.ts';

const everyMs = 20_000;

export interface CloudWatch {
  /** Resolves with the reason when the provider has ended the sandbox. */
  readonly ended: Promise<string>;
  /** Starts commands, and looks at once when one cannot be started or is cut off. */
  readonly attach: Attach;
  stop(): void;
}

/** Follows a sandbox that runs, and keeps its provider from ending it. Does not keep the program running. */
export function watchSandbox(provider: CloudProvider, product: string, reference: string): CloudWatch {
  const ended = Promise.withResolvers<string>();
  let isLooking = false;
  let isStopped = false;
  const look = async (): Promise<void> => {
    const state = await provider.state(reference);
    if (state === 'running') return;
    ended.resolve(`${product} has ${state === 'stopped' ? 'stopped' : 'ended'} it`);
    stop();
  };
  const lookNow = (): void => {
    if (isLooking || isStopped) return;
    isLooking = true;
    // A provider that does not answer is asked again later.
    void look()
      .catch(() => undefined)
      .finally(() => {
        isLooking = false;
      });
  };
  const watching = setInterval(lookNow, everyMs).unref();
  const { renewal } = provider;
  const renew = (): void => void renewal?.renew(reference).catch(lookNow);
  renew();
  const renewing = renewal && setInterval(renew, renewal.everyMs).unref();
  const stop = (): void => {
    isStopped = true;
    clearInterval(watching);
    clearInterval(renewing);
  };
  const start = provider.attach(reference);
  const attach: Attach = async (command) => {
    try {
      const attached = await start(command);
      // A command may also end because its sandbox does.
      attached.stdout.once('close', lookNow);
      return attached;
    } catch (error) {
      lookNow();
      throw error;
    }
  };
  return { ended: ended.promise, attach, stop };
}
