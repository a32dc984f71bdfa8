import { type Body, partsOf } from './model-bodies.ts';
import { signatureOf } from './model-protocols.ts';

/** What a strict provider would refuse about the messages of a request; undefined when it would take them. */
export const rules: Readonly<Record<string, (body: Body) => string | undefined>> = { chat: chatFlaw, anthropic: anthropicFlaw };

/** What no provider takes anywhere in a request, as the answer to its JSON says it. */
export function textFlaw(value: unknown): string | undefined {
  if (typeof value === 'string') {
    if (value.includes('\0')) return 'unsupported Unicode escape sequence: \\u0000 cannot be converted to text';
    return value.isWellFormed() ? undefined : 'the request body is not valid JSON: no low surrogate in string';
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const flaw = textFlaw(key) ?? textFlaw(item);
    if (flaw) return flaw;
  }
  return undefined;
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

function chatFlaw({ messages = [] }: Body): string | undefined {
  if (messages.length === 0) return 'there are no messages';
  let open = new Set<string>();
  const known = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) return `the result ${message.tool_call_id} belongs to no call right before it`;
      continue;
    }
    if (open.size > 0) return `the calls ${[...open].join(', ')} have no results`;
    const ids = (message.tool_calls ?? []).map((call) => call.id);
    const misnamed = (message.tool_calls ?? []).find((call) => !namePattern.test(call.function.name));
    if (misnamed) return `the name ${misnamed.function.name} does not match '^[a-zA-Z0-9_-]{1,64}$'`;
    for (const id of ids) if (known.has(id) || !known.add(id)) return `the id ${id} is used twice`;
    open = new Set(ids);
  }
  return open.size > 0 ? `the calls ${[...open].join(', ')} have no results` : undefined;
}

function anthropicFlaw({ messages = [], model }: Body): string | undefined {
  if (messages[0]?.role !== 'user') return 'the first message is not of the user';
  let open: string[] = [];
  const known = new Set<string>();
  let marks = 0;
  for (const { role, content } of messages) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : partsOf(content);
    if (parts.length === 0) return 'a message is empty';
    if (parts.some((part) => part.type === 'text' && (part.text ?? '').trim() === '')) return 'a text is empty';
    const isForeign = parts.some((part) => part.type === 'thinking' && part.signature !== signatureOf(model));
    if (isForeign) return 'messages.1.content.0: Invalid `signature` in `thinking` block';
    marks += parts.filter((part) => part.cache_control).length;
    const results = parts.filter((part) => part.type === 'tool_result').map((part) => part.tool_use_id ?? '');
    if (results.length !== open.length || open.some((id) => !results.includes(id)))
      return `results ${results} do not fit the calls ${open}`;
    open = role === 'assistant' ? parts.filter((part) => part.type === 'tool_use').map((part) => part.id ?? '') : [];
    for (const id of open) if (known.has(id) || !known.add(id)) return `the id ${id} is used twice`;
  }
  if (marks > 4) return 'there are more than four marks for the cache';
  return open.length > 0 ? `the calls ${open} have no results` : undefined;
}
