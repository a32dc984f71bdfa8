import { type Selectable, type SqlBool, sql } from 'kysely';
import type { WebCall } from '../core/web-log.ts';
import type { Access } from './access.ts';
import { readJson } from './json-columns.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';

/** So many calls are kept for each chat. */
const maxCalls = 60;
const maxOutputLength = 16 * 1024;
const maxInputLength = 4 * 1024;

export async function saveCall(access: Access, chat: string, call: WebCall): Promise<void> {
  const { call: name, state, turn, tool, input, output, exitCode, reason, after } = call;
  // Some providers count their calls anew in every conversation.
  const id = JSON.stringify([turn, name]);
  const about = JSON.stringify({
    call: name,
    turn,
    tool,
    input: shortInput(input),
    output: output.slice(-maxOutputLength),
    exitCode,
    reason,
  });
  await access.transaction(async (db) => {
    const known = await db.selectFrom('web_calls').select('seq').where('chat', '=', chat).where('call', '=', id).executeTakeFirst();
    if (known) {
      await db.updateTable('web_calls').set({ state, about }).where('chat', '=', chat).where('call', '=', id).execute();
      return;
    }
    const last = await db
      .selectFrom('web_messages')
      .select(({ fn }) => fn.max('position').as('position'))
      .where('chat', '=', chat)
      .executeTakeFirst();
    const newest = await db
      .selectFrom('web_calls')
      .select(({ fn }) => fn.max('seq').as('seq'))
      .where('chat', '=', chat)
      .executeTakeFirst();
    const seq = Number(newest?.seq ?? 0) + 1;
    const position = after ?? (last?.position == null ? null : Number(last.position));
    await db.insertInto('web_calls').values({ chat, call: id, seq, state, after_position: position, about }).execute();
    await db
      .deleteFrom('web_calls')
      .where('chat', '=', chat)
      .where('seq', '<=', seq - maxCalls)
      .execute();
  }, 'later');
}

/** Those that came after a message that is gone. */
export async function forgetCalls(access: Access, signal?: AbortSignal): Promise<void> {
  const isGone = sql<SqlBool>`not exists
    (select 1 from web_messages where web_messages.chat = web_calls.chat and web_messages.position = web_calls.after_position)`;
  await removeOld(access, { table: 'web_calls', only: isGone }, signal);
}

export async function callsOf(access: Access, chat: string): Promise<WebCall[]> {
  const rows = await access.run((db) => db.selectFrom('web_calls').selectAll().where('chat', '=', chat).orderBy('seq').execute());
  return rows.map(callOf);
}

function callOf(row: Selectable<Tables['web_calls']>): WebCall {
  const about = readJson(row.about) as Omit<WebCall, 'state' | 'after'>;
  const after = row.after_position === null ? undefined : Number(row.after_position);
  // Older rows say that the tool answered, and not whether the command succeeded.
  const state = row.state === 'ok' ? 'answered' : (row.state as WebCall['state']);
  return { ...about, state, after };
}

/** An input may be a whole file; a card shows its beginning. */
function shortInput(input: unknown): unknown {
  if (typeof input === 'string') return cut(input);
  if (typeof input !== 'object' || input === null) return input;
  const short = Object.fromEntries(Object.entries(input).map(([name, value]) => [name, typeof value === 'string' ? cut(value) : value]));
  return JSON.stringify(short).length > 4 * maxInputLength ? cut(JSON.stringify(short)) : short;
}

function cut(text: string): string {
  return text.length > maxInputLength ? `${text.slice(0, maxInputLength)}…` : text;
}
