import type { z } from 'zod';
import { settlesWithin } from '../../lib/deadline.ts';
import type { ChannelContext } from '../context.ts';
import type { Connection } from '../platform-channel.ts';
import { ReadMark } from '../read-mark.ts';
import { RememberedChats } from '../remembered-chats.ts';
import { DiscordClient } from './client.ts';
import { idAt, isId } from './ids.ts';
import { Interactions } from './interactions.ts';
import { introduce } from './introduction.ts';
import { keepLink } from './link.ts';
import { Listener } from './listener.ts';
import { showCommands } from './menu.ts';
import type { discordOptions } from './options.ts';
import { OwnThreads } from './own-threads.ts';
import { Speaker } from './speaker.ts';

/** How long `listen` waits to say whether it is up. */
const firstTryMs = 10_000;
/** Anybody who shares a server with the bot can begin one. */
const directLimits = { maxAgeMs: 60 * 24 * 60 * 60 * 1000, max: 500 };

export function connect(
  context: ChannelContext,
  { api_root: apiRoot, auto_thread: makesThreads }: z.output<typeof discordOptions>,
): Connection {
  const { log, deliveries, notes, commands = [] } = context;
  const token = context.secret('token_env');
  const client = new DiscordClient(token, apiRoot);
  const interactions = new Interactions();
  const threads = makesThreads ? new OwnThreads(client) : undefined;
  const speaker = new Speaker(client, interactions, threads);
  return {
    speaker,
    async listen(accept, health, signal) {
      await introduce(client, health, signal);
      const mark = await ReadMark.load(notes, idAt);
      const direct = await RememberedChats.load(notes, 'direct:', directLimits, isId);
      const listener = new Listener({ client, threads, speaker, interactions, accept, health, log, deliveries, mark, direct, signal });
      const tried = Promise.withResolvers<void>();
      const link = keepLink(
        {
          client,
          token,
          health,
          onReady: (ready) => {
            listener.ready(ready);
            void showCommands({ client, commands, notes, log, signal }, ready.application?.id);
          },
          onResumed: () => listener.resumed(),
          onEvent: (event) => listener.take(event),
          room: () => listener.room(),
          onTried: tried.resolve,
        },
        signal,
      );
      await settlesWithin({ ms: firstTryMs, signal }, tried.promise);
      return { ended: link.then(() => listener.farewell()) };
    },
  };
}
