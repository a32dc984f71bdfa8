import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  InteractionContextType,
  type RESTPutAPIApplicationCommandsJSONBody,
  Routes,
} from 'discord-api-types/v10';
import type { ChannelNotes } from '../../core/channel-notes.ts';
import { digestOf } from '../../lib/canonical-json.ts';
import { CallError } from '../call-error.ts';
import type { ChannelContext } from '../context.ts';
import type { DiscordClient } from './client.ts';

export interface MenuParts {
  client: DiscordClient;
  commands: NonNullable<ChannelContext['commands']>;
  notes: ChannelNotes | undefined;
  log: (sentence: string) => void;
  signal: AbortSignal;
}

const maxCommands = 100;
const maxDescription = 100;
const noteKey = 'commands';

/** Shows the chat commands in Discord's menu; nothing depends on it. Discord keeps them, and counts how often they change. Never rejects. */
export async function showCommands({ client, commands, notes, log, signal }: MenuParts, application: string): Promise<void> {
  const body = bodyOf(commands);
  if (body.length === 0 || !/^\d{1,20}$/.test(application)) return;
  const digest = digestOf([application, body]);
  try {
    if ((await notes?.read())?.get(noteKey) === digest) return;
    await client.call('PUT', Routes.applicationCommands(application), { body, signal });
    await notes?.write({ [noteKey]: digest });
  } catch (error) {
    if (error instanceof CallError) log(`Discord does not show the commands: ${error.message}.`);
  }
}

function bodyOf(commands: MenuParts['commands']): RESTPutAPIApplicationCommandsJSONBody {
  return commands
    .filter(({ name }) => /^[-_a-z0-9]{1,32}$/.test(name))
    .slice(0, maxCommands)
    .map(({ name, usage = '', help }) => ({
      name,
      description: help.slice(0, maxDescription) || name,
      type: ApplicationCommandType.ChatInput,
      contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
      ...(usage !== '' && {
        options: [
          {
            type: ApplicationCommandOptionType.String,
            name: 'text',
            description: usage.slice(0, maxDescription),
            required: !usage.startsWith('['),
          },
        ],
      }),
    }));
}
