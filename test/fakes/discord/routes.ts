import { bot, type DiscordWorld, type FakeFile } from './world.ts';

/** What Discord says when it does not do what it was asked to do. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Call {
  world: DiscordWorld;
  root: string;
  /** What the path names. */
  parts: readonly string[];
  body: Record<string, unknown>;
  file: FakeFile | undefined;
  query: URLSearchParams;
}

interface Route {
  method: string;
  path: RegExp;
  /** Without a token. */
  isPublic?: boolean;
  /** undefined: an answer without a body. */
  run(call: Call): unknown;
}

const maxContent = 2000;

/** The part of Discord's interface that bots of ours use. */
export const routes: readonly Route[] = [
  { method: 'GET', path: /^\/v10\/users\/@me$/, run: () => bot },
  {
    ...{ method: 'GET', path: /^\/v10\/gateway\/bot$/ },
    run: ({ root, world }) => ({
      url: root.replace('http:', 'ws:'),
      shards: 1,
      session_start_limit: { total: 1000, remaining: world.sessionsLeft, reset_after: 60_000, max_concurrency: 1 },
    }),
  },
  { method: 'GET', path: /^\/v10\/applications\/@me$/, run: ({ world }) => ({ id: bot.id, flags: world.applicationFlags }) },
  { method: 'GET', path: /^\/v10\/guilds\/(\d+)\/members\/(\d+)$/, run: memberOf },
  { method: 'POST', path: /^\/v10\/channels\/(\d+)\/messages\/(\d+)\/threads$/, run: beginThread },
  { method: 'PUT', path: /^\/v10\/applications\/(\d+)\/commands$/, run: setCommands },
  { method: 'GET', path: /^\/v10\/channels\/(\d+)\/messages$/, run: history },
  { method: 'POST', path: /^\/v10\/channels\/(\d+)\/messages$/, run: send },
  { method: 'GET', path: /^\/v10\/channels\/(\d+)\/messages\/(\d+)$/, run: ({ world, parts }) => messageOf(world, parts) },
  { method: 'PATCH', path: /^\/v10\/channels\/(\d+)\/messages\/(\d+)$/, run: edit },
  { method: 'DELETE', path: /^\/v10\/channels\/(\d+)\/messages\/(\d+)$/, run: remove },
  { method: 'POST', path: /^\/v10\/channels\/(\d+)\/typing$/, run: ({ world, parts: [channel = ''] }) => void world.typing.push(channel) },
  { method: 'POST', path: /^\/v10\/interactions\/(\d+)\/([^/]+)\/callback$/, isPublic: true, run: answerInteraction },
  { method: 'POST', path: /^\/v10\/webhooks\/(\d+)\/([^/]+)$/, isPublic: true, run: followUp },
  { method: 'GET', path: /^\/attachments\/(\d+)$/, isPublic: true, run: ({ world, parts: [id = ''] }) => world.files.get(id)?.data },
];

function setCommands({ world, body }: Call): unknown {
  world.commands = Object.values(body);
  return world.commands;
}

function memberOf({ world, parts: [, user = ''] }: Call): unknown {
  const roles = world.members.get(user);
  if (!roles) throw new Refusal(404, 10_007, 'Unknown Member');
  return { user: { id: user }, nick: null, roles };
}

function beginThread({ world, parts, body }: Call): unknown {
  const message = messageOf(world, parts);
  if (!world.mayMakeThreads) throw new Refusal(403, 50_013, 'Missing Permissions');
  if (world.channels.has(message.id)) throw new Refusal(400, 160_004, 'A thread has already been created for this message');
  const name = String(body.name ?? '');
  if (name.length < 1 || name.length > 100) throw new Refusal(400, 50_035, 'Invalid Form Body');
  world.thread(message.id, message.channel_id, bot.id, name);
  return { id: message.id };
}

function channelOf(world: DiscordWorld, id: string): void {
  if (!world.channels.has(id)) throw new Refusal(404, 10_003, 'Unknown Channel');
}

function messageOf(world: DiscordWorld, [channel = '', id = '']: readonly string[]) {
  channelOf(world, channel);
  const message = world.messages.get(id);
  if (!message || message.channel_id !== channel) throw new Refusal(404, 10_008, 'Unknown Message');
  return message;
}

/** As Discord does it: the earliest after an id, the newest of them first. Members are not told. */
function history({ world, parts: [channel = ''], query }: Call): unknown {
  channelOf(world, channel);
  const after = BigInt(query.get('after') ?? '0');
  const all = [...world.messages.values()].filter((one) => one.channel_id === channel && BigInt(one.id) > after);
  return all
    .slice(0, Number(query.get('limit') ?? 50))
    .reverse()
    .map(({ guild_id: _, member: __, ...message }) => message);
}

function checkBody({ content, components, nonce, allowed_mentions: mentions }: Record<string, unknown>, hasFile: boolean): void {
  const text = String(content ?? '');
  const invalid = (about: string): never => {
    throw new Refusal(400, 50_035, `Invalid Form Body\ncontent[BASE_TYPE]: ${about}`);
  };
  if ([...text].length > maxContent) invalid('Must be 2000 or fewer in length.');
  if (text.trim() === '' && !hasFile) throw new Refusal(400, 50_006, 'Cannot send an empty message');
  if (typeof nonce === 'string' && nonce.length > 25) invalid('Must be 25 or fewer in length.');
  const rows = (components ?? []) as { components: { label: string; custom_id: string }[] }[];
  if (rows.length > 5) invalid('Must be 5 or fewer in length.');
  for (const row of rows) {
    if (row.components.length > 5 || row.components.length === 0) invalid('Must be between 1 and 5 in length.');
    for (const { label, custom_id } of row.components) if (label.length > 80 || custom_id.length > 100) invalid('Too long.');
  }
  // Not a rule of Discord, but one of ours.
  if (JSON.stringify((mentions as { parse?: unknown })?.parse) !== '[]') invalid('Somebody could be mentioned.');
}

function send({ world, parts: [channel = ''], body, file }: Call): unknown {
  channelOf(world, channel);
  checkBody(body, file !== undefined);
  return world.botSends(channel, body, file);
}

function edit({ world, parts, body }: Call): unknown {
  const message = messageOf(world, parts);
  if (message.author.id !== bot.id) throw new Refusal(403, 50_005, 'Cannot edit a message authored by another user');
  const sent = world.sent.find((one) => one.message === message);
  checkBody(body, sent?.file !== undefined);
  message.content = String(body.content ?? message.content);
  if (body.components) message.components = body.components as never;
  if (sent && sent.versions.at(-1) !== message.content) sent.versions.push(message.content);
  return message;
}

function remove({ world, parts }: Call): undefined {
  const message = messageOf(world, parts);
  world.messages.delete(message.id);
  world.sent.splice(
    world.sent.findIndex((one) => one.message === message),
    1,
  );
}

function answerInteraction({ world, parts: [id = '', token = ''], body }: Call): undefined {
  if (world.openInteractions.get(id) !== token) throw new Refusal(404, 10_062, 'Unknown interaction');
  world.openInteractions.delete(id);
  const { type, data } = body as { type: number; data?: { content?: string; flags?: number } };
  world.interactionAnswers.push({ id, type, content: data?.content, flags: data?.flags });
}

function followUp({ world, body }: Call): unknown {
  world.notices.push(String(body.content));
  return { id: world.nextId() };
}
