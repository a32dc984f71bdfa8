import type { IncomingFile, IncomingMessage, IncomingPress, Person, Place } from '../../core/channel.ts';
import { mentions, readable, withoutAddress } from './entities.ts';
import { channelId, checkedId, fileId, isId, messageId, personId, userId } from './ids.ts';
import type { Workspace } from './workspaces.ts';

/** A message as Slack delivers it and as it is read later. Nothing of it is checked yet. */
export interface SlackMessage {
  type?: unknown;
  subtype?: unknown;
  user?: unknown;
  bot_id?: unknown;
  text?: unknown;
  ts?: unknown;
  thread_ts?: unknown;
  files?: unknown;
  attachments?: unknown;
  hidden?: unknown;
  edited?: unknown;
  latest_reply?: unknown;
}

/** The message that a thread is about. */
export interface Root {
  user: string | undefined;
  bot: string | undefined;
  text: string;
}

/** What else has to be known of a message. */
export interface MessageFacts {
  workspace: Pick<Workspace, 'team' | 'user' | 'bot'>;
  channel: string;
  /** For a message in a thread, when it can be read. */
  root: Root | undefined;
  /** By the id of a user. */
  names: ReadonlyMap<string, string>;
  conventions: Conventions;
}

export interface Conventions {
  /** A mention in a channel begins a thread. */
  replyInThread: boolean;
  /** Of the chat commands; undefined when they are not known. */
  commands: ReadonlySet<string> | undefined;
}

const spoken: ReadonlySet<unknown> = new Set([undefined, 'file_share', 'thread_broadcast', 'me_message']);
/** Slack itself. */
const slackbot = 'USLACKBOT';

/** undefined for what is no message of a person: notices, edits, and messages of programs. */
export function parseMessage(message: SlackMessage, facts: MessageFacts): IncomingMessage | undefined {
  if (!isSpoken(message)) return undefined;
  const { workspace, channel, root, names, conventions } = facts;
  const id = checkedId('ts', message.ts, messageId);
  const user = checkedId('user', message.user, userId);
  if (user === workspace.user || user === slackbot) return undefined;
  const isDirect = checkedId('channel', channel, channelId).startsWith('D');
  const source = textOf('text', message.text ?? '');
  const shared = sharedIn(message);
  const isForwarded = source.trim() === '' && shared !== undefined;
  const files = filesOf(isForwarded ? shared.files : message.files, workspace.team);
  const nameOf = (one: string): string | undefined => names.get(one);
  const said = isForwarded ? readable(shared.text, nameOf) : readable(withoutAddress(source, workspace.user), nameOf);
  if (said === '' && files.length === 0) return undefined;
  const thread = threadOf(message, id);
  const isNamed = mentions(source, workspace.user);
  const isOurThread = root !== undefined && (isOurs(root, workspace) || mentions(root.text, workspace.user));
  const isAddressed = isDirect || isNamed || isOurThread;
  const begins = thread === undefined && !isDirect && isNamed && conventions.replyInThread;
  return {
    kind: 'message',
    id,
    place: placeOf(workspace.team, channel, begins ? id : thread),
    from: person(workspace.team, user, names),
    at: timeOf(id),
    text: isForwarded ? said : asCommand(said, conventions.commands),
    isDirect,
    isAddressed,
    ...(isForwarded && { forwarded: { from: shared.from } }),
    quoted: !isForwarded && shared ? { from: shared.from, text: readable(shared.text, nameOf) } : quotedRoot(facts),
    files,
  };
}

/** A press of a button of ours. */
export function parsePress(payload: Record<string, unknown>, team: string): IncomingPress | undefined {
  const [action] = listOf(payload.actions);
  const user = recordOf(payload.user);
  if (action === undefined || action.type !== 'button') return undefined;
  const message = recordOf(payload.message);
  const container = recordOf(payload.container);
  const id = checkedId('message.ts', message.ts ?? container.message_ts, messageId);
  const channel = checkedId('channel.id', recordOf(payload.channel).id ?? container.channel_id, channelId);
  const by = checkedId('user.id', user.id, userId);
  const at = checkedId('action_ts', action.action_ts, messageId);
  const thread = threadOf({ thread_ts: message.thread_ts ?? container.thread_ts }, id);
  const name = typeof user.name === 'string' && user.name !== '' ? user.name : by;
  return {
    kind: 'press',
    id: `press:${at}:${by}`,
    place: placeOf(team, channel, thread),
    from: { id: personId(team, by), name },
    at: new Date(),
    data: textOf('value', action.value),
    message: id,
  };
}

/** `/hermetic run ls` is `/run ls`. What does not begin with a command is for the agent. */
export function parseCommand(
  payload: Record<string, unknown>,
  team: string,
  names: ReadonlyMap<string, string>,
  commands: Conventions['commands'],
) {
  const channel = checkedId('channel_id', payload.channel_id, channelId);
  const user = checkedId('user_id', payload.user_id, userId);
  const words = textOf('text', payload.text ?? '').trim();
  const trigger = textOf('trigger_id', payload.trigger_id);
  const [first = ''] = words.split(/\s/, 1);
  const isCommand = commands === undefined || commands.has(first.toLowerCase());
  return {
    kind: 'message',
    id: `command:${trigger.slice(0, 200)}`,
    place: placeOf(team, channel, undefined),
    from: person(team, user, names),
    at: new Date(),
    text: words === '' ? '/help' : isCommand ? `/${words}` : words,
    isDirect: channel.startsWith('D'),
    isAddressed: true,
    quoted: undefined,
    files: [],
  } satisfies IncomingMessage;
}

/** Whether a person may have said it. */
export function isSpoken({ type, subtype, bot_id: bot, hidden, edited }: SlackMessage): boolean {
  // A mention that somebody wrote into it later comes as a mention again.
  const isEdit = type === 'app_mention' && edited !== undefined;
  return spoken.has(subtype) && (bot === undefined || bot === null) && hidden !== true && !isEdit;
}

/** A file of a message can be found again by these. */
export function filePlaceOf(id: string): { team: string; file: string } | undefined {
  try {
    const [team, file] = JSON.parse(id) as unknown[];
    return typeof team === 'string' && isId(file, fileId) ? { team, file } : undefined;
  } catch {
    return undefined;
  }
}

/** A message that has answers is in its own thread, and not in one for us. */
export function threadOf({ thread_ts: thread }: Pick<SlackMessage, 'thread_ts'>, id: string): string | undefined {
  if (thread === undefined || thread === null) return undefined;
  const checked = checkedId('thread_ts', thread, messageId);
  return checked === id ? undefined : checked;
}

export function rootOf({ user, bot_id: bot, text }: SlackMessage): Root {
  const textOrNothing = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return { user: textOrNothing(user), bot: textOrNothing(bot), text: textOrNothing(text) ?? '' };
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

function placeOf(team: string, channel: string, thread: string | undefined): Place {
  return { platform: 'slack', workspace: team, chat: channel, thread };
}

function person(team: string, user: string, names: ReadonlyMap<string, string>): Person {
  return { id: personId(team, user), name: names.get(user) ?? user };
}

function timeOf(id: string): Date {
  return new Date(Number(id) * 1000);
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new Error(`${name} is not a text.`);
  return value;
}

/** Slack takes what begins with a slash for itself. */
function asCommand(text: string, commands: Conventions['commands']): string {
  const name = /^!([a-z][a-z0-9_-]*)(?=\s|$)/i.exec(text)?.[1];
  return name !== undefined && (commands?.has(name.toLowerCase()) ?? true) ? `/${text.slice(1)}` : text;
}

function isOurs({ user, bot }: Root, workspace: MessageFacts['workspace']): boolean {
  return user === workspace.user || (bot !== undefined && bot === workspace.bot);
}

/** Not where the message that began the thread is part of the same conversation. */
function quotedRoot({ root, workspace, names, conventions }: MessageFacts): IncomingMessage['quoted'] {
  if (!root || root.text === '') return undefined;
  const isOwn = isOurs(root, workspace);
  if (!isOwn && conventions.replyInThread && mentions(root.text, workspace.user)) return undefined;
  const name = root.user === undefined ? '' : (names.get(root.user) ?? root.user);
  return { from: name, text: readable(root.text, (user) => names.get(user)) };
}

/** A message that somebody passes on. */
function sharedIn({ attachments }: SlackMessage): { from: string; text: string; files: unknown } | undefined {
  const shared = listOf(attachments).find(({ is_share: isShare, text }) => isShare === true && typeof text === 'string');
  if (!shared) return undefined;
  return { from: typeof shared.author_name === 'string' ? shared.author_name : '', text: String(shared.text), files: shared.files };
}

function filesOf(files: unknown, team: string): IncomingFile[] {
  return listOf(files).flatMap(({ id, name, title, mimetype, size, mode }) => {
    if (mode === 'tombstone' || mode === 'hidden_by_limit') return [];
    const checked = checkedId('file.id', id, fileId);
    const shown = [name, title].find((one) => typeof one === 'string' && one !== '') as string | undefined;
    return {
      id: JSON.stringify([team, checked]),
      name: shown ?? checked,
      mimeType: typeof mimetype === 'string' && mimetype !== '' ? mimetype : undefined,
      bytes: typeof size === 'number' && size >= 0 ? size : undefined,
    };
  });
}
