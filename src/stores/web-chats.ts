import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { Selectable, Transaction } from 'kysely';
import type { ChatPage, ChatPlace, ChatQuery, WebChat } from '../core/web-log.ts';
import type { Access } from './access.ts';
import { maxRows } from './remove-old.ts';
import type { Tables } from './schema.ts';

/** So many are looked through for one page of a search. */
const maxLooked = 20_000;

/** The index by which the chats of a person are listed. Released: never changes. */
export async function webChatIndex(db: Transaction<unknown>): Promise<void> {
  await db.schema.createIndex('web_chats_list').on('web_chats').columns(['person', 'last_active_at desc', 'id']).execute();
}

/** In portions, between which everything else has its turn. */
export async function listChats(access: Access, person: string, { limit, after, search = '' }: ChatQuery): Promise<ChatPage> {
  const words = folded(search).split(/\s+/).filter(Boolean);
  const atOnce = words.length === 0 ? limit + 1 : maxRows;
  const chats: WebChat[] = [];
  let place = after;
  for (let looked = 0; looked < maxLooked; looked += atOnce) {
    const next = await chatsAfter(access, person, place, atOnce);
    for (const chat of next) {
      const title = folded(chat.title);
      if (!words.every((word) => title.includes(word))) continue;
      if (chats.length === limit) return { chats, next: placeOf(chats.at(-1)) };
      chats.push(chat);
    }
    if (next.length < atOnce) return { chats, next: undefined };
    place = placeOf(next.at(-1));
    await turnOfLoop();
  }
  return { chats, next: place };
}

async function chatsAfter(access: Access, person: string, place: ChatPlace | undefined, limit: number): Promise<WebChat[]> {
  const rows = await access.read((db) => {
    let query = db.selectFrom('web_chats').selectAll().where('person', '=', person);
    if (place) {
      const at = place.at.getTime();
      query = query
        .where('last_active_at', '<=', at)
        .where(({ or, and, eb }) => or([eb('last_active_at', '<', at), and([eb('last_active_at', '=', at), eb('id', '>', place.id)])]));
    }
    return query.orderBy('last_active_at', 'desc').orderBy('id').limit(limit).execute();
  });
  return rows.map(chatOf);
}

export function chatOf(row: Selectable<Tables['web_chats']>): WebChat {
  const { id, person, title } = row;
  return { id, person, title, startedAt: new Date(Number(row.started_at)), lastActiveAt: new Date(Number(row.last_active_at)) };
}

function placeOf(chat: WebChat | undefined): ChatPlace | undefined {
  return chat && { at: chat.lastActiveAt, id: chat.id };
}

/** As people mean it who type it: without capitals, and one spelling for each letter. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
