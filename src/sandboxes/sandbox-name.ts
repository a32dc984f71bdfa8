import { createHash } from 'node:crypto';

/**
 * The name of a session's sandbox. Sessions are called by people, some of them hostile: the parts are hashed as a structure, so that no
 * two sessions and no two installations share a name, and nothing a person chose ends up in a path, a label or a host name.
 */
export function sandboxName(installation: string, parts: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([installation, ...parts]))
    .digest('hex')
    .slice(0, 24);
}
