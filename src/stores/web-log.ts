import { type RawBuilder, type Selectable, type SqlBool, sql, type Transaction } from 'kysely';
import type { ChatPage, ChatQuery, UnacceptedMessage, WebCall, WebChat, WebContent, WebFile, WebLog, WebMessage } from '../core/web-log.ts';
import type { Access } from './access.ts';
import { readJson } from './json-columns.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';
import { callsOf, forgetCalls, saveCall } from './web-calls.ts';
import { chatOf, listChats } from './web-chats.ts';

export class SqlWebLog implements WebLog {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async createChat({ id, person, title, startedAt, lastActiveAt }: WebChat): Promise<void> {
    const row = { id, person, title, started_at: startedAt.getTime(), last_active_at: lastActiveAt.getTime(), seq: 0 };
    await this.#access.run((db) =>
      db
        .insertInto('web_chats')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute(),
    );
  }

  async chat(id: string): Promise<WebChat | undefined> {
    const row = await this.#access.run((db) => db.selectFrom('web_chats').selectAll().where('id', '=', id).executeTakeFirst());
    return row && chatOf(row);
  }

  chats(person: string, query: ChatQuery): Promise<ChatPage> {
    return listChats(this.#access, person, query);
  }

  async append(
    chat: string,
    { id, author, ...content }: { id: string; author: WebMessage['author'] } & WebContent,
    at: Date,
    title = '',
  ): Promise<WebMessage | undefined> {
    return await this.#access.transaction(async (db) => {
      const existing = await messageRow(db, chat, id);
      if (existing) return messageOf(existing);
      const seq = await nextSeq(db, chat, at);
      if (seq === undefined) return undefined;
      const row = { chat, id, seq, position: seq, author, content: textOf(content), at: at.getTime(), edited_at: null };
      const accepted = author === 'us' ? 1 : 0;
      await db
        .insertInto('web_messages')
        .values({ ...row, accepted })
        .execute();
      for (const file of content.files) {
        await db.updateTable('web_files').set({ message: id }).where('id', '=', file.id).where('chat', '=', chat).execute();
      }
      if (title !== '') await db.updateTable('web_chats').set({ title }).where('id', '=', chat).where('title', '=', '').execute();
      return messageOf({ ...row, accepted });
    });
  }

  async edit(chat: string, id: string, change: Pick<WebContent, 'text' | 'buttons'>, at: Date): Promise<WebMessage | undefined> {
    return await this.#access.transaction(async (db) => {
      const row = await messageRow(db, chat, id);
      if (row?.author !== 'us') return undefined;
      const content = textOf({ ...contentOf(row.content), text: change.text, buttons: change.buttons });
      if (content === row.content) return messageOf(row);
      const seq = await nextSeq(db, chat, at);
      if (seq === undefined) return undefined;
      const changed = { seq, content, edited_at: at.getTime() };
      await db.updateTable('web_messages').set(changed).where('chat', '=', chat).where('id', '=', id).execute();
      return messageOf({ ...row, ...changed });
    });
  }

  async find(chat: string, id: string): Promise<WebMessage | undefined> {
    const row = await this.#access.run((db) => messageRow(db, chat, id));
    return row && messageOf(row);
  }

  async after(chat: string, seq: number, limit: number): Promise<WebMessage[]> {
    const rows = await this.#access.run((db) =>
      db.selectFrom('web_messages').selectAll().where('chat', '=', chat).where('seq', '>', seq).orderBy('seq').limit(limit).execute(),
    );
    return rows.map(messageOf);
  }

  async page(chat: string, before: number | undefined, limit: number): Promise<{ messages: WebMessage[]; seq: number; hasMore: boolean }> {
    return await this.#access.transaction(async (db) => {
      const found = await db.selectFrom('web_chats').select('seq').where('id', '=', chat).executeTakeFirst();
      let query = db.selectFrom('web_messages').selectAll().where('chat', '=', chat);
      if (before !== undefined) query = query.where('position', '<', before);
      const rows = await query
        .orderBy('position', 'desc')
        .limit(limit + 1)
        .execute();
      const messages = rows.slice(0, limit).map(messageOf).reverse();
      return { messages, seq: Number(found?.seq ?? 0), hasMore: rows.length > limit };
    });
  }

  async isWaiting(chat: string, id: string): Promise<boolean> {
    const row = await this.#access.run((db) => messageRow(db, chat, id));
    return row?.accepted === 0;
  }

  async accepted(chat: string, id: string): Promise<void> {
    await this.#access.run((db) =>
      db.updateTable('web_messages').set({ accepted: 1 }).where('chat', '=', chat).where('id', '=', id).execute(),
    );
  }

  async unaccepted(): Promise<UnacceptedMessage[]> {
    const rows = await this.#access.run((db) =>
      db.selectFrom('web_messages').selectAll().where('accepted', '=', 0).orderBy('at').orderBy('seq').execute(),
    );
    const pairs = await Promise.all(rows.map(async (row) => ({ chat: await this.chat(row.chat), message: messageOf(row) })));
    return pairs.flatMap(({ chat, message }) => (chat ? [{ chat, message }] : []));
  }

  saveCall(chat: string, call: WebCall): Promise<void> {
    return saveCall(this.#access, chat, call);
  }

  calls(chat: string): Promise<WebCall[]> {
    return callsOf(this.#access, chat);
  }

  async addFile(chat: string, { id, name, mimeType, bytes }: WebFile, data: Uint8Array, at: Date): Promise<void> {
    const row = { id, chat, message: null, name, mime_type: mimeType, bytes, data, added_at: at.getTime() };
    await this.#access.run((db) => db.insertInto('web_files').values(row).execute());
  }

  async file(id: string): Promise<(WebFile & { chat: string }) | undefined> {
    const row = await this.#access.run((db) =>
      db.selectFrom('web_files').select(['id', 'chat', 'name', 'mime_type', 'bytes']).where('id', '=', id).executeTakeFirst(),
    );
    return row && { id: row.id, chat: row.chat, name: row.name, mimeType: row.mime_type, bytes: Number(row.bytes) };
  }

  async fileData(id: string): Promise<Uint8Array | undefined> {
    const row = await this.#access.run((db) => db.selectFrom('web_files').select('data').where('id', '=', id).executeTakeFirst());
    return row?.data;
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    const messages = { table: 'web_messages', age: { column: 'at', before }, only: sql<SqlBool>`accepted = 1` } as const;
    await removeOld(this.#access, messages, signal);
    const isGone = sql<SqlBool>`message is not null and not exists
      (select 1 from web_messages where web_messages.chat = web_files.chat and web_messages.id = web_files.message)`;
    await this.#removeFiles(before, isGone, signal);
    const isEmpty = sql<SqlBool>`not exists (select 1 from web_messages where web_messages.chat = web_chats.id)`;
    await removeOld(this.#access, { table: 'web_chats', age: { column: 'last_active_at', before }, only: isEmpty }, signal);
    await forgetCalls(this.#access, signal);
  }

  async pruneFiles(before: Date, signal?: AbortSignal): Promise<void> {
    await this.#removeFiles(before, sql`message is null`, signal);
  }

  async #removeFiles(before: Date, only: RawBuilder<SqlBool>, signal?: AbortSignal): Promise<void> {
    // One large file is as much work as hundreds of messages.
    await removeOld(this.#access, { table: 'web_files', age: { column: 'added_at', before }, only, atOnce: 1 }, signal);
  }
}

type Reading = Pick<Transaction<Tables>, 'selectFrom'>;

async function messageRow(db: Reading, chat: string, id: string): Promise<Selectable<Tables['web_messages']> | undefined> {
  return await db.selectFrom('web_messages').selectAll().where('chat', '=', chat).where('id', '=', id).executeTakeFirst();
}

/** undefined when there is no such chat. */
async function nextSeq(db: Transaction<Tables>, chat: string, at: Date): Promise<number | undefined> {
  const row = await db.selectFrom('web_chats').select('seq').where('id', '=', chat).executeTakeFirst();
  if (!row) return undefined;
  const seq = Number(row.seq) + 1;
  await db.updateTable('web_chats').set({ seq, last_active_at: at.getTime() }).where('id', '=', chat).execute();
  return seq;
}

function textOf({ text, buttons, replyTo, files }: WebContent): string {
  return JSON.stringify({ text, buttons, replyTo, files });
}

function contentOf(json: string): WebContent {
  const { text, buttons, replyTo, files } = readJson(json) as WebContent;
  // JSON has no undefined.
  return { text, buttons, replyTo, files };
}

function messageOf(row: Selectable<Tables['web_messages']>): WebMessage {
  return {
    id: row.id,
    seq: Number(row.seq),
    position: Number(row.position),
    author: row.author as WebMessage['author'],
    ...contentOf(row.content),
    at: new Date(Number(row.at)),
    editedAt: row.edited_at === null ? undefined : new Date(Number(row.edited_at)),
  };
}
