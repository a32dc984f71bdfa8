import type { ModelFailure } from '../core/agent.ts';
import { hermetic } from '../lib/own-command.ts';
import { printable } from '../lib/printable.ts';

/** Who was asked, for sentences about what went wrong. */
export interface Asked {
  title: string;
  model: string;
  baseUrl: string;
  keyVariable: string;
  apiKey: string | undefined;
}

const maxMessage = 300;
const tooLong =
  /context.{0,20}(length|window|size)|(prompt|input|request|messages?).{0,20}too (long|large)|maximum.{0,30}tokens|exceed.{0,60}tokens|request_too_large/i;
const noCredit = /insufficient_quota|insufficient (credits|balance|funds)|credit balance|billing|exceeded your current quota/i;
/** Of thoughts of earlier answers that the provider has not signed, does not have, or never takes. */
const noThoughts =
  /signature.{0,60}(thinking|thought)|(thinking|thought).{0,60}signature|expected [`'"]?(redacted_)?thinking|thinking[`'"]? blocks?|redacted_thinking|of type 'reasoning'|reasoning item|reasoning_(content|details)|encrypted.content/i;
/** The same, by the id of an answer or a part of one. */
const noItem = /item (with id )?'(rs|msg|fc)_/i;
/** Of answers that the provider wants back with their thoughts. */
const thoughtsMissing = /reasoning_content.{0,60}(must be passed back|missing|required)|missing.{0,40}reasoning_content/i;
const noImages = /image|vision|multimodal|multi-modal/i;
const unreachable = /cannot connect|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|fetch failed/i;
/** Of errors that tell of an answer that ended too early. */
const brokenOff = /terminated|socket|network|premature|aborted|unexpected end|ended without|broke off|timed? ?out|ECONN|EPIPE|UND_ERR/i;
const brokenNames = /JSONParseError|TypeValidationError|NoOutputGenerated|EmptyResponseBody|NoContentGenerated/;
const overloaded = /overloaded|unavailable|server_error|rate.?limit|try again/i;

/** Why a call to a model failed, in one sentence. Never throws. */
export function explain(error: unknown, asked: Asked): ModelFailure {
  const failure = fieldsOf(error);
  const { status } = failure;
  const said = cut(failure.message, asked.apiKey);
  const words = `${failure.message} ${failure.body}`;
  const isRefusal = status !== undefined && status >= 400 && status < 500 && ![408, 409, 429].includes(status);
  if (isRefusal) return refusal(status, words, said, asked);
  if (status === 429) {
    if (noCredit.test(words)) return lasting('model/unusable', `The account at ${asked.title} has no credit left: ${said}`);
    return passing(`${asked.title} accepts no more requests at the moment: ${said}`, failure);
  }
  // Some servers that run on the user's own machine say so with a status of their own fault.
  if (tooLong.test(words)) return conversationTooLong(said, asked);
  if (status !== undefined && status >= 400) return passing(`${asked.title} failed with status ${status}: ${said}`, failure);
  if (unreachable.test(words)) {
    return {
      ...passing(`${asked.title} cannot be reached at ${asked.baseUrl}: ${said}`, failure),
      hint: 'Check model.base_url and the network.',
    };
  }
  if (status !== undefined || brokenNames.test(failure.name) || brokenOff.test(words)) {
    return passing(`The answer of ${asked.title} broke off: ${said}`, failure);
  }
  if (failure.isRetryable || overloaded.test(words)) return passing(`${asked.title} failed: ${said}`, failure);
  return refused(`${asked.title} failed: ${said}`, words);
}

/** For a status that says that the same request will never do. */
function refusal(status: number, words: string, said: string, asked: Asked): ModelFailure {
  if (status === 401 || (status === 403 && /key|token|auth/i.test(words))) {
    const what = asked.apiKey === undefined ? 'wants a key' : `refuses the key in ${asked.keyVariable}`;
    const hint = `Set ${asked.keyVariable} in .env to a valid key, or run \`${hermetic} setup\`.`;
    return lasting('model/unusable', `${asked.title} ${what}: ${said}`, hint);
  }
  if (status === 402 || noCredit.test(words)) return lasting('model/unusable', `The account at ${asked.title} has no credit left: ${said}`);
  const sentence = `${asked.title} refused the request with status ${status}: ${said}`;
  if (noItem.test(words)) return { ...lasting('model/failed', sentence), about: 'thoughts' };
  if (status === 404) {
    const what = `${asked.title} has no model called ${JSON.stringify(asked.model)} at ${asked.baseUrl}: ${said}`;
    return lasting('model/unusable', what, `Check model.model and model.base_url, or run \`${hermetic} setup\`.`);
  }
  if (status === 413 || tooLong.test(words)) return conversationTooLong(said, asked);
  return refused(sentence, words);
}

/** `about` is a guess: without what it names, the same is asked for once more, if there is any of it. */
function refused(sentence: string, words: string): ModelFailure {
  return { ...lasting('model/failed', sentence), about: aboutOf(words) };
}

function aboutOf(words: string): ModelFailure['about'] {
  if (thoughtsMissing.test(words)) return 'missing-thoughts';
  if (noThoughts.test(words) || noItem.test(words)) return 'thoughts';
  return noImages.test(words) ? 'images' : undefined;
}

function conversationTooLong(said: string, { model }: Asked): ModelFailure {
  return { ...lasting('model/failed', `The conversation is too long for ${model}: ${said}`), about: 'too-long' };
}

function lasting(code: ModelFailure['code'], message: string, hint?: string): ModelFailure {
  return { code, message, hint, isTransient: false, retryAfterMs: undefined, about: undefined };
}

function passing(message: string, { retryAfterMs }: Fields): ModelFailure {
  return { ...lasting('model/failed', message), isTransient: true, retryAfterMs };
}

interface Fields {
  name: string;
  message: string;
  body: string;
  status: number | undefined;
  isRetryable: boolean;
  retryAfterMs: number | undefined;
}

/** Errors of the SDK, of its streams and of the network have these where they have them at all. */
function fieldsOf(error: unknown): Fields {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const headers = (fields.responseHeaders ?? {}) as Record<string, string | undefined>;
  const body =
    typeof fields.responseBody === 'string' ? fields.responseBody : typeof fields.data === 'object' ? JSON.stringify(fields.data) : '';
  const cause = fields.cause instanceof Error ? ` (${fields.cause.message})` : '';
  const message =
    typeof fields.message === 'string' ? `${fields.message}${cause}` : typeof error === 'string' ? error : JSON.stringify(error);
  return {
    name: typeof fields.name === 'string' ? fields.name : '',
    message: message || 'no reason was given',
    body,
    status: typeof fields.statusCode === 'number' ? fields.statusCode : undefined,
    isRetryable: fields.isRetryable === true,
    retryAfterMs: retryAfterOf(headers, body),
  };
}

function retryAfterOf(headers: Record<string, string | undefined>, body: string): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const after = headers['retry-after'];
  if (after !== undefined) {
    const ms = /^\d+(\.\d+)?$/.test(after.trim()) ? Number(after) * 1000 : Date.parse(after) - Date.now();
    if (Number.isFinite(ms)) return Math.max(0, ms);
  }
  const delay = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Number(delay) * 1000;
}

/** Security: some providers repeat the key that they refuse. */
function cut(message: string, apiKey: string | undefined): string {
  const hidden = apiKey ? message.replaceAll(apiKey, '***') : message;
  const line = printable(hidden);
  return line.length > maxMessage ? `${line.slice(0, maxMessage)}…` : line;
}
