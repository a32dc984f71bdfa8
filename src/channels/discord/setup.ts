import { type APIApplication, type APIUser, ApplicationFlags, Routes } from 'discord-api-types/v10';
import { hermetic } from '../../lib/own-command.ts';
import { CallError } from '../call-error.ts';
import type { ChannelSetup } from '../setup.ts';
import { DiscordClient } from './client.ts';
import { reasonOf, tokenHint, unusable } from './failures.ts';

/** View channels, send messages, send them in threads, make threads, attach files, read what was said before. */
const permissions = (1n << 10n) | (1n << 11n) | (1n << 38n) | (1n << 35n) | (1n << 15n) | (1n << 16n);
const mayRead = ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited;

export const setup: ChannelSetup = {
  steps: [
    'Open discord.com/developers/applications and make a new application.',
    'On its page Bot, switch on "Message Content Intent", then press "Reset Token" and copy the token.',
  ],
  fields: [
    {
      option: 'token_env',
      message: 'Its token, from the page Bot',
      problem: (token) =>
        /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? undefined : 'This is not a token of a Discord bot: it has three parts with dots.',
    },
  ],
  async check({ secret, options }) {
    const client = new DiscordClient(secret('token_env'), options.api_root as string | undefined);
    try {
      const user = await client.call<APIUser>('GET', Routes.user());
      const { id, flags = 0 } = await client.call<APIApplication>('GET', Routes.currentApplication());
      if ((flags & mayRead) === 0) {
        throw unusable('The bot may not read messages.', 'Switch on "Message Content Intent" on the page Bot of the application.');
      }
      const address = `https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&permissions=${permissions}`;
      return `The bot is ${user.username}. Let it into a server with ${address}`;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      throw unusable(reasonOf(error), error.status === 401 ? tokenHint : undefined);
    }
  },
  next: `Write to your bot: it gives you a code for ${hermetic} pairing approve.`,
};
