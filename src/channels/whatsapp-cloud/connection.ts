import type { z } from 'zod';
import type { ChannelContext } from '../context.ts';
import type { Connection } from '../platform-channel.ts';
import { ownName, RecentMessages } from '../recent-messages.ts';
import { GraphClient } from './client.ts';
import { unusable } from './failures.ts';
import { LastIncoming } from './last-incoming.ts';
import { Listener } from './listener.ts';
import { isToken, type whatsAppCloudOptions } from './options.ts';
import { Speaker } from './speaker.ts';
import { introduce, keepWatch, type Pace, usualPace } from './watch.ts';
import { Webhook } from './webhook.ts';

const secretHint = 'Put them into the variables named by whatsapp_cloud.app_secret_env and whatsapp_cloud.verify_token_env.';

export function connect(
  { secret, log, deliveries }: ChannelContext,
  options: z.output<typeof whatsAppCloudOptions>,
  pace: Pace = usualPace,
): Connection {
  const { api_root: apiRoot, phone_number_id: phoneNumberId, webhook_host: host, webhook_port: port, webhook_path: path } = options;
  const token = secret('token_env');
  if (!isToken(token)) throw unusable('This is not a token of Meta.');
  if (phoneNumberId === undefined) {
    const hint = 'Copy the "Phone number ID" from the page API Setup of the app, and set whatsapp_cloud.phone_number_id to it.';
    throw unusable('WhatsApp Cloud needs the id of a phone number.', hint);
  }
  const appSecret = secret('app_secret_env');
  const verifyToken = secret('verify_token_env');
  // Security: with an empty secret everybody could sign.
  if (appSecret === '' || verifyToken === '') throw unusable('WhatsApp Cloud needs the app secret and a verify token.', secretHint);
  const client = new GraphClient(token, apiRoot);
  const recent = new RecentMessages();
  const last = new LastIncoming();
  let name = ownName;
  return {
    speaker: new Speaker({ client, phoneNumberId, recent, last, name: () => name }),
    async listen(accept, health, signal) {
      const number = await introduce(client, phoneNumberId, health, signal);
      name = number?.verified_name ?? name;
      const listener = new Listener({ phoneNumberId, recent, last, accept, health, log, deliveries, signal });
      const webhook = new Webhook({
        host,
        port,
        path,
        appSecret,
        verifyToken,
        deliver: (body) => listener.deliver(body),
        log,
      });
      await webhook.open();
      if (number) health.report('connection', undefined);
      const ended = keepWatch(client, phoneNumberId, health, pace, signal).then(async () => {
        await listener.farewell();
        await webhook.close();
      });
      return { ended };
    },
  };
}
