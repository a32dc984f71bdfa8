import { createHmac, hash, randomBytes } from 'node:crypto';
import { isSameSecret } from '../lib/same-secret.ts';

const cookieLastsMs = 30 * 24 * 60 * 60 * 1000;
const codeLastsMs = 24 * 60 * 60 * 1000;
const maxCodes = 20;

/**
 * Decides who is the owner: by the token, by a cookie signed with it, or by a code that is good for one cookie. Cookies are signed here because
 * hono's helper takes a malformed cookie for a missing one, and a wrong cookie has to count as an attempt.
 */
export class Gatekeeper {
  readonly #token: string;
  readonly #key: Buffer;
  /** By their digest; when they end. */
  readonly #codes = new Map<string, number>();

  constructor(token: string) {
    this.#token = token;
    // Security: another token ends every cookie, and no cookie tells anything about the token.
    this.#key = createHmac('sha256', token).update('hermetic web cookie 1').digest();
  }

  isToken(given: string): boolean {
    return isSameSecret(given, this.#token);
  }

  /** Good for one cookie within a day. */
  newCode(): string {
    const code = randomBytes(24).toString('base64url');
    const oldest = this.#codes.keys().next();
    if (this.#codes.size >= maxCodes && !oldest.done) this.#codes.delete(oldest.value);
    this.#codes.set(hash('sha256', code), Date.now() + codeLastsMs);
    return code;
  }

  /** True once. */
  redeem(code: string): boolean {
    const name = hash('sha256', code);
    const endsAt = this.#codes.get(name) ?? 0;
    this.#codes.delete(name);
    return endsAt > Date.now();
  }

  newCookie(): { value: string; seconds: number } {
    const content = `1.${Date.now() + cookieLastsMs}.${randomBytes(12).toString('base64url')}`;
    return { value: `${content}.${this.#sign(content)}`, seconds: cookieLastsMs / 1000 };
  }

  isCookie(value: string): boolean {
    const [version = '', endsAt = '', nonce = '', signature = '', ...more] = value.split('.');
    const isSigned = isSameSecret(signature, this.#sign(`${version}.${endsAt}.${nonce}`));
    return isSigned && more.length === 0 && version === '1' && Number(endsAt) > Date.now();
  }

  #sign(content: string): string {
    return createHmac('sha256', this.#key).update(content).digest('base64url');
  }
}
