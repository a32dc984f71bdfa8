import type { FakeMessage, FakeWorkspace, SlackWorld } from './world.ts';

/** What Slack says when it does not do what it was asked to do. */
export class Refusal extends Error {}

export interface Call {
  world: SlackWorld;
  workspace: FakeWorkspace;
  /** With everything that was JSON parsed. */
  given: Record<string, unknown>;
  root: string;
}

const maxEdited = 4000;

/** The part of Slack's Web API that bots of ours use. */
export const methods: Readonly<Record<string, (call: Call) => Record<string, unknown>>> = {
  'auth.test': ({ workspace: { team, name, bot, botId } }) => ({
    team_id: team,
    team: name,
    user_id: bot,
    user: 'hermetic',
    bot_id: botId,
  }),
  'users.info': ({ world, given }) => {
    const name = world.names.get(String(given.user));
    if (name === undefined) throw new Refusal('user_not_found');
    return { user: { id: given.user, name: 'handle', real_name: 'Real Name', profile: { display_name: name, real_name: 'Real Name' } } };
  },
  'chat.postMessage': (call) => {
    const channel = channelOf(call);
    checkContent(call.given);
    if (call.given.unfurl_links !== 'false' || call.given.unfurl_media !== 'false') throw new Refusal('our_rule_no_previews');
    return { channel, ts: call.world.botSends(call.workspace, channel, call.given).ts };
  },
  'chat.postEphemeral': (call) => {
    const { user, text, thread_ts: thread } = call.given;
    call.world.notices.push({ channel: channelOf(call), user: String(user), text: String(text), thread: thread as string | undefined });
    return { message_ts: call.world.nextTs() };
  },
  'chat.update': (call) => {
    const message = messageOf(call);
    if (message.user !== call.workspace.bot) throw new Refusal('cant_update_message');
    checkContent(call.given);
    message.text = String(call.given.text);
    message.blocks = call.given.blocks;
    const sent = call.world.sent.find((one) => one.message === message);
    if (JSON.stringify(sent?.versions.at(-1)) !== JSON.stringify(message.blocks)) sent?.versions.push(message.blocks);
    return { ts: message.ts };
  },
  'chat.delete': (call) => {
    const message = messageOf(call);
    const { messages, sent } = call.world;
    messages.splice(messages.indexOf(message), 1);
    sent.splice(
      sent.findIndex((one) => one.message === message),
      1,
    );
    return {};
  },
  'conversations.history': (call) => {
    const channel = channelOf(call);
    const all = call.world.messages.filter((one) => one.channel === channel && (one.thread_ts === undefined || one.thread_ts === one.ts));
    const { messages, ...rest } = page(all.toReversed(), call.given);
    return { messages: messages.map((message) => shown(withReplies(call.world, message))), ...rest };
  },
  'conversations.replies': (call) => {
    const channel = channelOf(call);
    const { ts } = call.given;
    const [root, ...replies] = call.world.messages.filter((one) => one.channel === channel && (one.ts === ts || one.thread_ts === ts));
    if (!root) throw new Refusal('thread_not_found');
    const { messages, ...rest } = page(replies, call.given);
    return { messages: [withReplies(call.world, root), ...messages].map(shown), ...rest };
  },
  'files.getUploadURLExternal': ({ world, workspace, given, root }) => {
    const name = String(given.filename);
    if (name === '' || !(Number(given.length) > 0)) throw new Refusal('invalid_arguments');
    const file = world.store({ name, data: new Uint8Array() }, workspace.team);
    return { upload_url: `${new URL(root).origin}/upload/${file.id}`, file_id: file.id };
  },
  'files.completeUploadExternal': (call) => {
    const [{ id }] = call.given.files as [{ id: string }];
    const file = call.world.files.get(id);
    if (!file) throw new Refusal('file_not_found');
    const channel = channelOf({ ...call, given: { channel: call.given.channel_id } });
    if (call.given.blocks !== undefined) checkBlocks(call.given.blocks);
    if (JSON.stringify(call.given.blocks ?? []).includes('"link"')) throw new Refusal('our_rule_no_previews');
    const { ts } = call.world.botSends(call.workspace, channel, call.given, file);
    file.shares = { private: { [channel]: [{ ts }] } };
    return { files: [{ id }] };
  },
  'files.info': ({ world, workspace, given }) => {
    const file = world.files.get(String(given.file));
    if (!file || file.team !== workspace.team) throw new Refusal('file_not_found');
    return { file: world.fileFacts(file) };
  },
  'files.delete': ({ world, given }) => {
    if (!world.files.delete(String(given.file))) throw new Refusal('file_not_found');
    return {};
  },
};

function channelOf({ world, workspace, given }: Pick<Call, 'world' | 'workspace' | 'given'>): string {
  const channel = String(given.channel);
  if (world.channels.get(channel) !== workspace.team) throw new Refusal('channel_not_found');
  return channel;
}

function messageOf(call: Call): FakeMessage {
  const channel = channelOf(call);
  const found = call.world.messages.find((one) => one.channel === channel && one.ts === call.given.ts);
  if (!found) throw new Refusal('message_not_found');
  return found;
}

function checkContent({ text, blocks, parse, link_names: names }: Record<string, unknown>): void {
  if (String(text).length > maxEdited) throw new Refusal('msg_too_long');
  // Not rules of Slack, but ours.
  if (/[<>]/.test(String(text)) || /&(?!amp;|lt;|gt;)/.test(String(text))) throw new Refusal('our_rule_escaped_text');
  if (parse !== 'none' || names !== 'false') throw new Refusal('our_rule_no_mentions');
  checkBlocks(blocks);
}

interface Block {
  type: string;
  text?: unknown;
  elements?: Block[];
  value?: string;
  action_id?: string;
  [key: string]: unknown;
}

function checkBlocks(blocks: unknown): void {
  const all = blocks as Block[];
  if (!Array.isArray(all) || all.length > 50) throw new Refusal('invalid_blocks');
  let length = 0;
  const check = (block: Block): void => {
    if (['user', 'usergroup', 'broadcast', 'channel', 'emoji', 'color', 'date', 'team'].includes(block.type)) {
      throw new Refusal('our_rule_no_mentions');
    }
    if (block.type === 'text' || block.type === 'link') {
      const text = String(block.text ?? block.url);
      if (text === '' || !text.isWellFormed()) throw new Refusal('invalid_blocks');
      length += text.length;
    } else if (block.type === 'button') checkButton(block);
    else if (!block.elements || block.elements.length === 0) throw new Refusal('invalid_blocks');
    if (block.type === 'rich_text_list' && Number(block.indent) > 8) throw new Refusal('invalid_blocks');
    if (block.type === 'actions') {
      const ids = block.elements?.map(({ action_id: id }) => id) ?? [];
      if (ids.length > 25 || new Set(ids).size !== ids.length) throw new Refusal('invalid_blocks');
    }
    for (const one of block.elements ?? []) check(one);
  };
  for (const block of all) check(block);
  if (length > 12_000) throw new Refusal('msg_blocks_too_long');
  const said = JSON.stringify(
    all.filter(({ type }) => type === 'rich_text'),
    (key, value) => (key === 'type' ? undefined : value),
  );
  if (!/"text":"(?:\\[ntr]|\s)*[^"\s\\]/.test(said) && !said.includes('"text":"\\')) throw new Refusal('no_text');
}

function checkButton({ text, value = '', action_id: id = '' }: Block): void {
  const label = String((text as { text?: unknown }).text);
  if (label.length > 75 || label === '' || value.length > 2000 || id.length > 255) throw new Refusal('invalid_blocks');
}

/** Slack says of a message that has answers how many, and when the last was given. */
function withReplies(world: SlackWorld, message: FakeMessage): FakeMessage {
  const replies = world.messages.filter((one) => one.channel === message.channel && one.thread_ts === message.ts && one !== message);
  const last = replies.at(-1);
  return last ? { ...message, thread_ts: message.ts, reply_count: replies.length, latest_reply: last.ts } : message;
}

/**
 * A part of what was said in a range of time. The cursor is where the next part begins, also when something is said
 * meanwhile.
 */
function page(
  all: readonly FakeMessage[],
  { oldest = '0', latest = '9999999999', inclusive, limit = 100, cursor }: Record<string, unknown>,
): { messages: FakeMessage[]; has_more: boolean; response_metadata: { next_cursor: string } } {
  const isWithin = ({ ts }: FakeMessage): boolean =>
    (ts > String(oldest) && ts < String(latest)) || (inclusive === 'true' && (ts === oldest || ts === latest));
  const found = all.filter(isWithin);
  const start = cursor === undefined ? 0 : found.findIndex(({ ts }) => cursor === `next_ts:${ts}`);
  const end = start + Number(limit);
  const next = found[end];
  return {
    messages: found.slice(start, end),
    has_more: next !== undefined,
    response_metadata: { next_cursor: next ? `next_ts:${next.ts}` : '' },
  };
}

/** Without what only a delivery says. */
function shown({ channel: _, channel_type: __, ...message }: FakeMessage): Omit<FakeMessage, 'channel' | 'channel_type'> {
  return message;
}
