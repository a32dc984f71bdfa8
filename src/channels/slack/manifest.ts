/** The command by which people give others. */
const command = '/hermetic';

/** What the bot needs in a workspace. */
export const botScopes = [
  'app_mentions:read',
  'channels:history',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'im:history',
  'mpim:history',
  'users:read',
] as const;

/** The app as Slack is told to make it. The page about Slack has the same. */
export const manifest = {
  display_information: { name: 'Hermetic', description: 'An agent that works in sandboxes' },
  features: {
    app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
    bot_user: { display_name: 'Hermetic', always_online: true },
    slash_commands: [{ command, description: 'Gives a command', usage_hint: 'help', should_escape: false }],
  },
  oauth_config: { scopes: { bot: botScopes } },
  settings: {
    event_subscriptions: { bot_events: ['app_mention', 'message.channels', 'message.groups', 'message.im', 'message.mpim'] },
    interactivity: { is_enabled: true },
    org_deploy_enabled: false,
    socket_mode_enabled: true,
    token_rotation_enabled: false,
  },
} as const;

/** Opens Slack with the app filled in. */
export function newAppAddress(): string {
  return `https://api.slack.com/apps?new_app=1&manifest_json=${encodeURIComponent(JSON.stringify(manifest))}`;
}
