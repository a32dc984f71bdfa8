export interface SshTarget {
  user: string;
  host: string;
  port: number;
  /** The user is a secret by which alone the host lets us in: no key is shown, and no message repeats it. */
  isToken?: boolean;
}

const defaultPort = 22;

/** A host name or an address. Security: ends up in files of names, where blanks and commas mean something. */
export const hostPattern = /^[A-Za-z0-9_:][A-Za-z0-9_.:%-]*$/;
/** Security: no leading dash, and nothing that divides a target. */
export const userPattern = /^[^\s\0@:,-][^\s\0@:,]*$/;

/** Reads `[user@]host[:port]`, where the host may be an address in brackets; undefined when it is something else. */
export function parseTarget(text: string, defaultUser: string): SshTarget | undefined {
  const [, user = defaultUser, bracketed, name, digits] = /^(?:([^@]+)@)?(?:\[([^\]]+)\]|([^:@[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? name ?? '';
  const port = digits === undefined ? defaultPort : Number(digits);
  const isValid = hostPattern.test(host) && userPattern.test(user) && port >= 1 && port <= 65_535;
  return isValid ? { user, host, port } : undefined;
}

/** For people. */
export function targetText({ user, host, port, isToken }: SshTarget): string {
  return isToken ? addressText({ host, port }) : `${user}@${addressText({ host, port })}`;
}

/** As files of known hosts and ssh itself write it: brackets for any port but the usual one. */
export function addressText({ host, port }: Pick<SshTarget, 'host' | 'port'>): string {
  return port === defaultPort ? host : `[${host}]:${port}`;
}
