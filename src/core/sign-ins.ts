/** The actor in the audit log of all that is done on the page. */
export const pageOwner = 'web:owner';

/** A browser that was let in to the page. */
export interface SignIn {
  /** Names it for people. Worth nothing without the cookie. */
  id: string;
  /** In words, such as `Firefox 140 on Linux`. */
  browser: string;
  /** Where it was let in from. */
  network: string;
  /** The way in which it was signed in. */
  by: 'link' | 'token';
  at: Date;
  /** To a minute or so. */
  seenAt: Date;
}

/** Who does something with the page, and from where. */
export type PageVisitor = Pick<SignIn, 'browser' | 'network'>;

/**
 * Names a cookie in the database. Security: a cookie is good under one token, and the names tell nothing about either.
 */
export interface CookieKeys {
  /** Of the cookie. */
  digest: string;
  /** Of the token. */
  token: string;
}

/** A sign-in ends after 30 days without use, or 90 days after it began, unless it is ended before. */
export const signInLasts = { unusedDays: 30, days: 90 } as const;

/** Browsers that are signed in. Every change is in the audit log, or was not made. */
export interface SignInLedger {
  /** Of a hundred, the longest unused makes room. Resolves with the new one. */
  begin(visitor: PageVisitor & Pick<SignIn, 'by'>, keys: CookieKeys, at: Date): Promise<SignIn>;
  find(keys: CookieKeys, at: Date): Promise<SignIn | undefined>;
  /** Unlike the rest, a power failure may lose it. */
  seen(id: string, at: Date): Promise<void>;
  /** The last used first. */
  list(at: Date): Promise<SignIn[]>;
  /** At once, wherever it is in use. undefined when there is none. */
  end(id: string, by: string, at: Date): Promise<SignIn | undefined>;
  /** Ends those of other tokens and those that are too old. */
  keep(token: string, at: Date): Promise<void>;
  /** Records an attempt without the right token, code or place; `others` came before it and have no record. */
  refused(visitor: PageVisitor, why: string, others: number, at: Date): Promise<void>;
  /** Records that a link was made that lets one browser in. */
  linked(by: string, at: Date): Promise<void>;
}
