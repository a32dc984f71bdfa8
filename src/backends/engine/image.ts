import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { refusedStatus } from '../refusal.ts';
import type { Engine } from './engine.ts';
import { type ImageReference, parseImageReference } from './image-reference.ts';
import { PullEventReader, PullProgress } from './pull-progress.ts';

export interface ImageFacts {
  /** `sha256:…`: names this very image, even when its tag moves. */
  id: string;
  reference: string;
  /** The user the image wants to run as; '' is root. */
  user: string;
  env: readonly string[];
  sizeBytes: number;
}

export interface EnsureOptions {
  progress(text: string): void;
  signal?: AbortSignal | undefined;
  /** A pull may take as long as it likes, but not be silent for longer than this. */
  stallMs?: number;
  /** Lines come no closer than this. */
  progressEveryMs?: number;
}

interface RawImage {
  Id: string;
  Size: number;
  Config: { User?: string; Env?: string[] | null } | null;
}

/** undefined when the engine does not have it. */
export async function findImage(engine: Engine, reference: string, signal?: AbortSignal): Promise<ImageFacts | undefined> {
  const { text } = parseImageReference(reference);
  try {
    const image = await engine.request<RawImage>('GET', `/images/${text}/json`, undefined, { signal });
    return { id: image.Id, reference, user: image.Config?.User ?? '', env: image.Config?.Env ?? [], sizeBytes: image.Size };
  } catch (error) {
    if (refusedStatus(error) === 404) {
      return undefined;
    }
    throw error;
  }
}

/** Throws `sandbox/no-image` unless the engine finds the image in its registry, soon. Pulls nothing. */
export async function refuseUnlessPullable(engine: Engine, reference: string, timeoutMs = 4000): Promise<void> {
  const { text } = parseImageReference(reference);
  refuseId(text);
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    await engine.request('GET', `/distribution/${text}/json`, undefined, { signal });
  } catch (error) {
    if (!signal.aborted && refusedStatus(error) === undefined) throw error;
    const reason = signal.aborted ? `the registry did not answer within ${timeoutMs / 1000} s` : reasonOf(error);
    throw noImage(`The image ${text} is not there and cannot be pulled: ${plainReason(reason)}`, hintFor(engine, text, reason), error);
  }
}

/** Failed pulls, so that sessions a moment later do not wait for the same failure. */
const failures = new WeakMap<Engine, Map<string, { error: HermeticError; at: number }>>();
const failureCountsMs = 30_000;

/** The image, pulled when it is not there. Pulls anonymously: an image of a private registry must be pulled beforehand. */
export async function ensureImage(engine: Engine, reference: string, options: EnsureOptions): Promise<ImageFacts> {
  const present = await findImage(engine, reference, options.signal);
  if (present) {
    return present;
  }
  const parsed = parseImageReference(reference);
  refuseId(parsed.text);
  const failure = failures.get(engine)?.get(parsed.text);
  if (failure && performance.now() - failure.at < failureCountsMs) {
    throw failure.error;
  }
  try {
    await pull(engine, parsed, options);
  } catch (error) {
    if (error instanceof HermeticError && error.code === 'sandbox/no-image') {
      const known = failures.get(engine) ?? new Map();
      failures.set(engine, known.set(parsed.text, { error, at: performance.now() }));
    }
    throw error;
  }
  const pulled = await findImage(engine, reference, options.signal);
  if (!pulled) {
    throw new HermeticError('sandbox/no-image', `The engine says it pulled ${reference}, but does not have it.`);
  }
  return pulled;
}

function refuseId(text: string): void {
  if (!text.startsWith('sha256:')) {
    return;
  }
  throw new HermeticError('sandbox/no-image', `There is no image with the id ${text}.`, {
    hint: 'Name the image instead of its id, so that it can be pulled.',
  });
}

async function pull(engine: Engine, reference: ImageReference, options: EnsureOptions): Promise<void> {
  const { stallMs = 120_000, progressEveryMs = 1000 } = options;
  const query = new URLSearchParams({ fromImage: reference.repository, tag: reference.digest ?? reference.tag ?? 'latest' });
  const progress = new PullProgress(reference.text);
  const reader = new PullEventReader();
  const controller = new AbortController();
  const cancel = () => controller.abort(options.signal?.reason);
  const stalled = () =>
    controller.abort(
      new HermeticError('sandbox/no-image', `Pulling ${reference.text} made no progress for ${stallMs / 1000} s.`, {
        hint: `Is the network slow or the registry down? Try again, or pull it beforehand: ${engine.product.kind} pull ${reference.text}`,
      }),
    );
  options.signal?.throwIfAborted();
  options.signal?.addEventListener('abort', cancel, { once: true });
  const timer = setTimeout(stalled, stallMs);
  let lastText = '';
  let lastAt = Number.NEGATIVE_INFINITY;
  const tell = () => {
    const text = progress.text();
    if (text !== lastText && performance.now() - lastAt >= progressEveryMs) {
      lastText = text;
      lastAt = performance.now();
      options.progress(text);
    }
  };
  try {
    tell();
    const response = await engine.stream('POST', `/images/create?${query}`, { signal: controller.signal });
    for await (const chunk of response) {
      timer.refresh();
      for (const event of reader.feed(chunk as Buffer)) {
        if (event.error !== undefined) {
          throw new Error(event.errorDetail?.message ?? event.error);
        }
        progress.take(event);
      }
      tell();
    }
  } catch (error) {
    if (controller.signal.aborted) {
      throw controller.signal.reason;
    }
    throw pullError(engine, reference.text, error);
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', cancel);
  }
}

function pullError(engine: Engine, reference: string, error: unknown): HermeticError {
  if (error instanceof HermeticError && error.code.startsWith('backend/')) {
    return error;
  }
  const reason = reasonOf(error);
  return noImage(`The image ${reference} cannot be pulled: ${plainReason(reason)}`, hintFor(engine, reference, reason), error);
}

function noImage(message: string, hint: string, cause: unknown): HermeticError {
  return new HermeticError('sandbox/no-image', message, { hint, cause });
}

/** In the engine's own words where it has said something. */
function reasonOf(error: unknown): string {
  const said = error instanceof HermeticError && error.cause instanceof Error ? error.cause : error;
  return errorText(said).trim();
}

/** Errors of the engine's network in plain words; what a registry has said stays as it is. */
function plainReason(reason: string): string {
  const [, looked] = /\blookup (\S+?):? /.exec(reason) ?? [];
  if (looked !== undefined) return `the engine finds no address of its registry ${looked}`;
  const isUnreachable = /\bdial (tcp|udp)\b|TLS handshake|context deadline exceeded|Client\.Timeout/.test(reason);
  return isUnreachable ? 'the engine cannot reach its registry' : reason;
}

function hintFor({ product: { kind } }: Engine, reference: string, reason: string): string {
  if (/no space left on device/i.test(reason)) {
    return `The disk of the engine is full. See \`${kind} system df\`; \`${kind} system prune\` frees space.`;
  }
  if (/toomanyrequests|rate limit/i.test(reason)) {
    return `The registry limits anonymous pulls. Log in and pull it yourself: ${kind} login && ${kind} pull ${reference}`;
  }
  if (/denied|unauthorized|not found|manifest unknown|does not exist|no matching manifest/i.test(reason)) {
    return `Is the name right? An image of a private registry must be pulled beforehand: ${kind} pull ${reference}`;
  }
  return `The engine could not reach the registry. Check its network, or load the image from a file: ${kind} load -i FILE`;
}
