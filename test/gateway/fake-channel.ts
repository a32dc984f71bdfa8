import type { Channel, ChannelState, ChannelTraits, Outgoing, Place } from '../../src/core/channel.ts';
import { HermeticError } from '../../src/core/errors.ts';

interface ShownMessage extends Outgoing {
  id: string;
  chat: string;
  /** What it was before, the oldest first. */
  before: string[];
}

/**
 * What the platform does with one request. `busy` and `refused`: it says so. `cut`: the connection ends before the platform has read it, which
 * the channel cannot know; `cut-after`: right after it was done.
 */
export type Whim =
  | 'fine'
  | { busy: number | undefined; isOfPlace?: boolean }
  | 'refused'
  | 'cut'
  | 'cut-after'
  | { until: Promise<unknown> };

export interface PlatformRequest {
  kind: 'send' | 'edit';
  chat: string;
  text: string;
  at: number;
}

/** A platform in memory: what people see in its chats, and every request it ever got. It outlives the channels that talk to it. */
export class FakePlatform {
  readonly requests: PlatformRequest[] = [];
  readonly messages: ShownMessage[] = [];
  /** What happens to a request; fine by default. */
  whim: (request: PlatformRequest) => Whim = () => 'fine';

  texts(chat: string): string[] {
    return this.messages.filter((message) => message.chat === chat).map(({ text }) => text);
  }

  async handle(request: PlatformRequest, act: () => string): Promise<string> {
    this.requests.push(request);
    const whim = this.whim(request);
    if (whim === 'refused') throw new HermeticError('channel/refused', 'The bot was removed from the chat.');
    if (whim === 'cut') throw new Error('socket hang up');
    if (typeof whim === 'object' && 'busy' in whim)
      throw new HermeticError('channel/busy', 'Too Many Requests', { retryAfterMs: whim.busy, isOfPlace: whim.isOfPlace });
    if (typeof whim === 'object') await whim.until;
    const answer = act();
    if (whim === 'cut-after') throw new Error('socket hang up');
    return answer;
  }
}

export function fakeChannel(platform: FakePlatform, changes: Partial<ChannelTraits> = {}): Channel {
  const traits: ChannelTraits = {
    isOwn: false,
    maxTextLength: 100,
    buttons: true,
    editEveryMs: 20,
    maxFileBytes: 1000,
    typing: false,
    sendsOncePerKey: false,
    ...changes,
  };
  const state: ChannelState = { kind: 'up', since: new Date() };
  const request = (kind: PlatformRequest['kind'], place: Place, text: string) => ({ kind, chat: place.chat, text, at: Date.now() });
  const checked = ({ text }: Outgoing): void => {
    if (text.length > traits.maxTextLength) throw new HermeticError('channel/refused', 'The text is too long.');
  };
  const edit: Channel['edit'] = async (place, id, message) => {
    await platform.handle(request('edit', place, message.text), () => {
      checked(message);
      const found = platform.messages.find((one) => one.id === id && one.chat === place.chat);
      if (!found) throw new HermeticError('channel/refused', 'There is no such message.');
      found.before.push(found.text);
      Object.assign(found, message);
      return id;
    });
  };
  return {
    kind: 'fake',
    traits,
    state,
    start: async () => undefined,
    stop: async () => undefined,
    send: (place, message) =>
      platform.handle(request('send', place, message.text), () => {
        checked(message);
        const known = platform.messages.find(({ key, chat }) => traits.sendsOncePerKey && key === message.key && chat === place.chat);
        if (known) return known.id;
        const id = `m${platform.messages.length + 1}`;
        platform.messages.push({ ...message, id, chat: place.chat, before: [] });
        return id;
      }),
    ...(traits.editEveryMs === undefined ? {} : { edit }),
    fetchFile: async () => Buffer.alloc(0),
  };
}

export function chat(name: string, platform = 'fake'): Place {
  return { platform, workspace: undefined, chat: name, thread: undefined };
}
