import type { z } from 'zod';
import { HermeticError } from '../../core/errors.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { Connection } from '../platform-channel.ts';
import { RecentMessages } from '../recent-messages.ts';
import { daemonAt } from './daemon-at.ts';
import { EventCursor } from './event-cursor.ts';
import { Listener } from './listener.ts';
import type { signalOptions } from './options.ts';
import { Revisions } from './revisions.ts';
import { Self } from './self.ts';
import { Speaker } from './speaker.ts';

/** How long `listen` waits to say whether it is up. */
const firstTryMs = 15_000;

export function connect({ log, deliveries, notes }: ChannelContext, options: z.output<typeof signalOptions>): Connection {
  const { account, api_root: apiRoot, socket, note_to_self: noteToSelf } = options;
  if (account === undefined) {
    const hint = 'Put the phone number of an account that signal-cli has into signal.account, as text in quotes.';
    throw new HermeticError('channel/unusable', 'signal.account is not set.', { hint });
  }
  const daemon = daemonAt({ account, apiRoot, socket });
  const self = new Self(account);
  const revisions = new Revisions(notes);
  const recent = new RecentMessages();
  const speaker = new Speaker({ daemon, self, revisions, recent });
  return {
    speaker,
    async listen(accept, health, signal) {
      const cursor = await EventCursor.load(notes);
      const listener = new Listener({
        daemon,
        self,
        revisions,
        recent,
        speaker,
        cursor,
        noteToSelf,
        accept,
        health,
        log,
        deliveries,
        signal,
      });
      const tried = Promise.withResolvers<void>();
      const ended = listener.run(tried.resolve);
      ended.then(tried.resolve, tried.reject);
      await settlesWithin({ ms: firstTryMs, signal }, tried.promise);
      return { ended: ended.catch((error: unknown) => health.failed(errorText(error))) };
    },
  };
}
