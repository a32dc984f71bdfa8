import type { z } from 'zod';
import { settlesWithin } from '../../lib/deadline.ts';
import type { ChannelContext } from '../context.ts';
import type { Connection } from '../platform-channel.ts';
import { ReadMark } from '../read-mark.ts';
import { SlackClient } from './client.ts';
import { appTokenHint, checkedToken } from './failures.ts';
import { isPersonId, microsecondsAt } from './ids.ts';
import { introduce } from './introduction.ts';
import { KnownChats } from './known-chats.ts';
import { keepLink } from './link.ts';
import { Listener } from './listener.ts';
import type { slackOptions } from './options.ts';
import { Speaker } from './speaker.ts';
import { Workspaces } from './workspaces.ts';

type Options = z.output<typeof slackOptions>;

/** How long `listen` waits to say whether it is up. */
const firstTryMs = 10_000;

export function connect(context: ChannelContext, options: Options): Connection {
  const { log, deliveries, notes, commands } = context;
  const { api_root: apiRoot, reply_in_thread: replyInThread } = options;
  const workspaces = new Workspaces(context.secret('token_env'), apiRoot);
  const app = new SlackClient({ token: checkedToken(context.secret('app_token_env'), appTokenHint), apiRoot });
  const names = commands && new Set(['start', ...commands.map(({ name }) => name)]);
  return {
    speaker: new Speaker(workspaces),
    async listen(accept, health, signal) {
      const firstAddress = await introduce({ workspaces, app, health }, signal);
      workspaces.watch(health, signal);
      warnOfPlainIds(options, log);
      const [mark, chats] = await Promise.all([ReadMark.load(notes, microsecondsAt), KnownChats.load(notes)]);
      const conventions = { replyInThread, commands: names };
      const listener = new Listener({ workspaces, conventions, accept, health, log, deliveries, mark, chats, signal });
      const tried = Promise.withResolvers<void>();
      const link = keepLink(
        {
          app,
          workspaces,
          health,
          firstAddress,
          onConnected: (wasDeaf) => listener.connected(wasDeaf),
          onEnvelope: (envelope) => listener.take(envelope),
          onTried: tried.resolve,
        },
        signal,
      );
      await settlesWithin({ ms: firstTryMs, signal }, tried.promise);
      return { ended: link.then(() => listener.farewell()) };
    },
  };
}

/** Such an id lets nobody in, which is hard to find out otherwise. */
function warnOfPlainIds({ allowed_users: users, admins }: Options, log: (sentence: string) => void): void {
  const unknown = [...users, ...admins].filter((id) => !isPersonId(id));
  if (unknown.length === 0) return;
  log(`Slack knows nobody by ${JSON.stringify(unknown)}: people are written as TEAM/USER, as /hermetic whoami shows it.`);
}
