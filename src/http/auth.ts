import { createHmac, hash, randomBytes } from 'node:crypto';
import { type CookieKeys, type PageVisitor, type SignIn, type SignInLedger, signInLasts } from '../core/sign-ins.ts';
import { isSameSecret } from '../lib/same-secret.ts';

const codeLastsMs = 24 * 60 * 60 * 1000;
const maxCodes = 20;
/** How exact the time is at which a browser was last seen: every request would be a write. */
const seenEveryMs = 60_000;
/** 256 random bits. */
const cookieShape = /^[\w-]{43}$/;

/** A browser signs in with one of these. */
export type Credential = { code: string } | { token: string };

/** Decides who is the owner: by the token, by the cookie of a sign-in, or by a code that is good for one sign-in. */
export class Gatekeeper {
  readonly #token: string;
  readonly #key: Buffer;
  readonly #signIns: SignInLedger;
  /** By their digest; when they end. */
  readonly #codes = new Map<string, number>();

  constructor(token: string, signIns: SignInLedger) {
    this.#token = token;
    this.#signIns = signIns;
    // Security: another token ends every sign-in, and nothing that is stored tells anything about the token or a cookie.
    this.#key = createHmac('sha256', token).update('hermetic web cookie 2').digest();
  }

  isToken(given: string): boolean {
    return isSameSecret(given, this.#token);
  }

  /** Ends the sign-ins of another token. */
  async start(): Promise<void> {
    await this.#signIns.keep(this.#keysOf('').token, new Date());
  }

  /** Good for one sign-in within a day. */
  newCode(): string {
    const code = randomBytes(24).toString('base64url');
    const oldest = this.#codes.keys().next();
    if (this.#codes.size >= maxCodes && !oldest.done) this.#codes.delete(oldest.value);
    this.#codes.set(hash('sha256', code), Date.now() + codeLastsMs);
    return code;
  }

  /** Whether it is good now. A code stays so until it is used. */
  isGood(credential: Credential): boolean {
    if ('token' in credential) return this.isToken(credential.token);
    return (this.#codes.get(hash('sha256', credential.code)) ?? 0) > Date.now();
  }

  /** Resolves with a cookie; undefined when the browser is not let in. */
  async signIn(credential: Credential, visitor: PageVisitor): Promise<{ value: string; seconds: number } | undefined> {
    if (!this.isGood(credential)) return undefined;
    if ('token' in credential) return await this.#begin(visitor, 'token');
    const name = hash('sha256', credential.code);
    const endsAt = this.#codes.get(name) ?? 0;
    this.#codes.delete(name);
    try {
      return await this.#begin(visitor, 'link');
    } catch (error) {
      // The code was not used.
      this.#codes.set(name, endsAt);
      throw error;
    }
  }

  async #begin(visitor: PageVisitor, by: SignIn['by']): Promise<{ value: string; seconds: number }> {
    const value = randomBytes(32).toString('base64url');
    await this.#signIns.begin({ ...visitor, by }, this.#keysOf(value), new Date());
    return { value, seconds: signInLasts.days * 24 * 60 * 60 };
  }

  async signInOf(cookie: string): Promise<SignIn | undefined> {
    if (!cookieShape.test(cookie)) return undefined;
    const now = new Date();
    const found = await this.#signIns.find(this.#keysOf(cookie), now);
    if (found && now.getTime() - found.seenAt.getTime() > seenEveryMs) void this.#signIns.seen(found.id, now).catch(() => undefined);
    return found;
  }

  #keysOf(cookie: string): CookieKeys {
    const digest = (content: string): string => createHmac('sha256', this.#key).update(content).digest('base64url');
    return { digest: digest(`cookie ${cookie}`), token: digest('token').slice(0, 16) };
  }
}
