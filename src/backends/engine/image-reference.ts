import { HermeticError } from '../../core/errors.ts';

export interface ImageReference {
  /** Registry and path, as written. */
  repository: string;
  tag: string | undefined;
  digest: string | undefined;
  /** The reference for the engine: always with a tag or a digest. */
  text: string;
}

const repositoryPattern =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-f]{32,}$/;
const idPattern = /^sha256:[0-9a-f]{64}$/;

/**
 * `name`, `name:tag`, `registry:5000/path/name:tag@sha256:…`, or the `sha256:…` id of an image that is there.
 * Security: what passes goes into paths of the engine's API as it is, so nothing else may pass.
 */
export function parseImageReference(text: string): ImageReference {
  if (idPattern.test(text)) {
    return { repository: text, tag: undefined, digest: undefined, text };
  }
  const [name = '', digest, ...rest] = text.split('@');
  const colon = name.lastIndexOf(':');
  const hasTag = colon > name.lastIndexOf('/');
  const repository = hasTag ? name.slice(0, colon) : name;
  const tag = hasTag ? name.slice(colon + 1) : digest === undefined ? 'latest' : undefined;
  const valid =
    rest.length === 0 &&
    repository.length <= 255 &&
    repositoryPattern.test(repository) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || digestPattern.test(digest));
  if (!valid) {
    throw new HermeticError('config/bad-value', `"${text}" is not the name of an image.`, {
      hint: 'Write it as NAME, NAME:TAG or REGISTRY/NAME:TAG, for example python:3.13-slim.',
    });
  }
  return { repository, tag, digest, text: `${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}` };
}
