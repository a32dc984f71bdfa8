/** Every way Hermetic can fail. `docs/errors.md` is generated from this table. */
export const errorCodes = {
  'usage/bad-argument': 'A command line argument is missing, unknown or malformed.',
  'config/unreadable': 'A configuration file cannot be read, or others can read, write or replace it when they must not.',
  'config/bad-yaml': 'config.yaml is not valid YAML.',
  'config/unknown-key': 'A key that does not exist.',
  'config/unused-key': 'A key that Hermes or an earlier version has and this version does not use.',
  'config/bad-value': 'A value of the wrong type or outside its range.',
  'backend/unknown': 'No backend has this name.',
  'backend/unavailable': 'The backend cannot work on this machine as it is.',
  'backend/not-installed': 'The engine of the backend is not installed.',
  'backend/not-running': 'The engine is installed but does not answer.',
  'backend/not-permitted': 'The engine answers, but not to this user.',
  'backend/cannot-honour': 'The backend cannot give what the configuration asks of it.',
  'backend/cannot-restrict': 'The backend cannot restrict the network of its sandboxes on this machine.',
  'sandbox/no-image': 'The image does not exist or cannot be pulled.',
  'sandbox/open-failed': 'The sandbox could not be made; nothing of it was left behind.',
  'sandbox/no-room': 'A quota leaves no room for another sandbox. A gateway waits and tries again.',
  'sandbox/in-use': 'The sandbox would have to be replaced while something else is using it.',
  'sandbox/network-taken': 'A program inside the sandbox holds a port that the restricted network needs.',
  'sandbox/network-failed': 'The restricted network of a sandbox could not be opened.',
  'sandbox/lost': 'The sandbox ended behind our back. The command was not repeated.',
  'sandbox/changed': 'The session had another directory or other functions than those for which the command was allowed. Nothing was run.',
  'sandbox/not-found': 'No sandbox belongs to this session.',
  'sandbox/not-contained': 'A proof from inside the sandbox showed that it does not contain what runs in it.',
  'sandbox/bad-command': 'The command cannot be handed to a shell, for example because it contains a NUL byte.',
  'file/no-file': 'There is no file at this path in the sandbox.',
  'file/is-directory': 'The path is a directory.',
  'file/failed': 'The file could not be read or written inside the sandbox.',
  'tool/bad-input': 'A tool was called with input that does not fit its schema, or that contradicts itself.',
  'tool/failed': 'A tool could not do what it was asked to do.',
  'approval/denied': 'It was not allowed to run: the rules deny it, a person said no, or no person could be asked.',
  'approval/not-found': 'There is no question or grant of this name.',
  'approval/settled': 'The question has been settled already. Nothing was changed.',
  'approval/own-session':
    'A command of a session tried to change Hermetic itself, or it cannot be told whether it was one. Nothing was changed.',
  'audit/broken': 'Records of the audit log were changed, removed, added or moved.',
  'gateway/running': 'Another gateway runs for this home.',
  'gateway/refused': 'The running gateway does not take this terminal.',
  'gateway/gone': 'The gateway ended while a terminal was connected to it.',
  'page/not-found': 'No browser is signed in under this id.',
  'pairing/not-found': 'No such code is waiting, or no person of this name is paired.',
  'pairing/locked': 'Too many wrong codes were tried. None is looked at for a while.',
  'session/not-found': 'There is no session of this name.',
  'network/not-found': 'There is neither a rule of config.yaml nor a grant for this host.',
  'secret/not-found': 'There is no secret of this name in .env.',
  'channel/busy': 'A chat platform could not take a message now. It is tried again.',
  'channel/unanswered':
    'A chat platform did not answer, so it is unknown whether it took a message. It is sent again, marked as a possible repeat, up to three times.',
  'channel/refused': 'A chat platform will never take this message, for example because the bot was removed from the chat.',
  'channel/unusable': 'A chat platform cannot be used as it is configured, for example because its token is wrong.',
  'model/unusable': 'The model cannot be used as it is configured: no provider, no key, or a key the provider refuses.',
  'model/failed': 'The provider of the model failed, also after trying again.',
  'store/newer': 'The state database was written by a newer version. It was left as it is.',
  'store/corrupt': 'The state database is damaged, or the file is something else. It was left as it is.',
  'store/busy': 'Another process held the state database for too long.',
  'store/failed': 'The state database cannot be opened, read or written: no space, no permission, or a fault of the disk.',
} as const;

export type ErrorCode = keyof typeof errorCodes;

export interface ErrorDetails {
  /** The remedy, as a sentence or a command line. */
  hint?: string | undefined;
  /** When it makes sense to try again. */
  retryAfterMs?: number | undefined;
  /** Of a platform that takes no more for now: it takes no more at this place, and elsewhere it may. */
  isOfPlace?: boolean | undefined;
  cause?: unknown;
}

export class HermeticError extends Error {
  override readonly name = 'HermeticError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isOfPlace: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.retryAfterMs = details.retryAfterMs;
    this.isOfPlace = details.isOfPlace ?? false;
  }
}
