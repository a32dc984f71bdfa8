import type { ModelFailure } from '../core/agent.ts';
import { printable } from '../lib/printable.ts';

/** Who was asked, for sentences about what went wrong. */
export interface Asked {
  title: string;
  model: string;
  baseUrl: string;
  keyVariable: string;
  apiKey: string | undefined;
}

const mostMessage = 300;
const tooLong =
  /context.{0,20}(length|window|size)|(prompt|input|request|messages?).{0,20}too (long|large)|maximum.{0,30}tokens|exceed.{0,60}tokens|request_too_large/i;
const noCredit = /insufficient_quota|insufficient (credits|balance|funds)|credit balance|billing|exceeded your current quota/i;
const noImages = /image|vision|multimodal|multi-modal/i;
/** Of errors that tell of a connection or of an answer that ended too early. */
const brokenOff = /terminated|socket|network|fetch failed|premature|aborted|unexpected end|broke off|timed? ?out|ECONN|EPIPE|UND_ERR/i;
const brokenNames = /JSONParseError|TypeValidationError|NoOutputGenerated|EmptyResponseBody|NoContentGenerated/;
const overloaded = /overloaded|unavailable|server_error|rate.?limit|try again/i;

/** What a call to a model failed of, in one sentence. Never throws. */
export function explain(error: unknown, asked: Asked): ModelFailure {
  const failure = fieldsOf(error);
  const said = cut(failure.message, asked.apiKey);
  const words = `${failure.message} ${failure.body}`;
  const status = failure.status;
  if (status !== undefined && status !== 429 && status < 500 && status !== 408 && status !== 409) {
    return { ...final(status, words, said, asked), ...later(false, undefined) };
  }
  if (status === 429 && noCredit.test(words))
    return { ...unusable(`The account at ${asked.title} has no credit left: ${said}`, undefined) };
  const about = status !== undefined && status !== 429 && tooLong.test(words) ? 'too-long' : undefined;
  if (about)
    return { ...passing(`${asked.title} says that the conversation is too long for ${asked.model}.`, failure), isPassing: false, about };
  if (status === 429) return passing(`${asked.title} takes no more requests at this moment: ${said}`, failure);
  if (status !== undefined) return passing(`${asked.title} failed with status ${status}: ${said}`, failure);
  if (/cannot connect|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|fetch failed/i.test(words)) {
    return {
      ...passing(`${asked.title} cannot be reached at ${asked.baseUrl}: ${said}`, failure),
      hint: 'Check model.base_url and the network.',
    };
  }
  if (tooLong.test(words))
    return {
      ...passing(`${asked.title} says that the conversation is too long for ${asked.model}.`, failure),
      isPassing: false,
      about: 'too-long',
    };
  if (failure.isRetryable || overloaded.test(words)) return passing(`${asked.title} failed: ${said}`, failure);
  if (brokenNames.test(failure.name) || brokenOff.test(words)) return passing(`The answer of ${asked.title} broke off: ${said}`, failure);
  return { ...passing(`${asked.title} failed: ${said}`, failure), isPassing: false };
}

/** For a status that says that the same request will never do. */
function final(status: number, words: string, said: string, asked: Asked): Omit<ModelFailure, 'isPassing' | 'retryAfterMs'> {
  if (status === 401 || (status === 403 && /key|token|auth/i.test(words))) {
    const what = asked.apiKey === undefined ? 'wants a key' : `refuses the key in ${asked.keyVariable}`;
    return unusable(`${asked.title} ${what}: ${said}`, `Set ${asked.keyVariable} in .env to a valid key, or run \`hermetic setup\`.`);
  }
  if (status === 402 || noCredit.test(words)) return unusable(`The account at ${asked.title} has no credit left: ${said}`, undefined);
  if (status === 404) {
    return unusable(
      `${asked.title} has no model called ${JSON.stringify(asked.model)} at ${asked.baseUrl}: ${said}`,
      'Check model.model and model.base_url, or run `hermetic setup`.',
    );
  }
  const about = status === 413 || tooLong.test(words) ? 'too-long' : noImages.test(words) ? 'images' : undefined;
  const message =
    about === 'too-long' ? `The conversation is too long for ${asked.model}` : `${asked.title} refused the request with status ${status}`;
  return { code: 'model/failed', message: `${message}: ${said}`, hint: undefined, about };
}

function unusable(message: string, hint: string | undefined): ModelFailure {
  return { code: 'model/unusable', message, hint, about: undefined, ...later(false, undefined) };
}

function passing(message: string, { retryAfterMs }: Fields): ModelFailure {
  return { code: 'model/failed', message, hint: undefined, about: undefined, ...later(true, retryAfterMs) };
}

function later(isPassing: boolean, retryAfterMs: number | undefined) {
  return { isPassing, retryAfterMs };
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
  return line.length > mostMessage ? `${line.slice(0, mostMessage)}…` : line;
}
