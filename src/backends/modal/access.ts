import type { ModalClient, ModalClientParams, Profile } from 'modal';
import { HermeticError } from '../../core/errors.ts';
import { within } from '../../lib/deadline.ts';
import { loadPackage } from '../cloud/load-package.ts';
import type { BackendContext } from '../context.ts';
import { modalError } from './errors.ts';

/** Security: another version may have other private parts than those used here, and 1.2.0 is another program of the same name. */
const wanted = { name: 'modal', version: '0.11.1' };

export interface CallOptions {
  /** How long it may take; also when the work does not heed its signal. */
  ms: number;
  signal?: AbortSignal | undefined;
}

const defaultServer = 'https://api.modal.com:443';
/** A connection to a sandbox that no command uses is given up. */
const unusedMs = 30_000;

/** The way to one account at Modal. Construction does no input or output. */
export class ModalAccess {
  readonly #environment: BackendContext['environment'];
  #client: Promise<ModalClient> | undefined;

  constructor(environment: BackendContext['environment']) {
    this.#environment = environment;
  }

  /** The environment at Modal; empty is the workspace's own default. */
  get environmentName(): string {
    return this.#environment.MODAL_ENVIRONMENT ?? '';
  }

  get server(): string {
    return this.#environment.MODAL_SERVER_URL || defaultServer;
  }

  /** Rejects with a `HermeticError` for anything that fails. The work is done at most once. */
  async call<Result>({ ms, signal }: CallOptions, work: (client: ModalClient, signal: AbortSignal) => Promise<Result>): Promise<Result> {
    signal?.throwIfAborted();
    const ending = new AbortController();
    const working = (async () => {
      try {
        this.#client ??= this.#connect().catch((error: unknown) => {
          this.#client = undefined;
          throw error;
        });
        return await work(await this.#client, ending.signal);
      } catch (error) {
        throw modalError(error);
      }
    })();
    return await within({ ms, signal }, working, () => {
      ending.abort();
      if (signal?.aborted) throw signal.reason;
      throw new HermeticError('backend/not-running', `Modal did not answer within ${ms / 1000} s.`, {
        hint: 'It may be overloaded or not reachable from here. Try again.',
      });
    });
  }

  async #connect(): Promise<ModalClient> {
    const profile = this.#profile();
    return clientOf(await loadPackage('Modal', wanted, () => import('modal')), profile);
  }

  #profile(): Profile {
    const { MODAL_TOKEN_ID: tokenId, MODAL_TOKEN_SECRET: tokenSecret } = this.#environment;
    if (!tokenId || !tokenSecret) {
      throw new HermeticError('backend/not-permitted', 'No token of Modal is set.', {
        hint: "Make one with modal token new, and put MODAL_TOKEN_ID and MODAL_TOKEN_SECRET into the file .env of Hermetic's home.",
      });
    }
    const url = URL.parse(this.server);
    const isLoopback = url?.hostname === '127.0.0.1' || url?.hostname === 'localhost';
    // Security: anything else would send the token in the clear.
    if (!url || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback))) {
      throw new HermeticError('backend/unavailable', 'MODAL_SERVER_URL is not an https:// address.', { hint: 'Remove the variable.' });
    }
    const { environmentName: environment } = this;
    // Security: the package would wait as long as the server likes.
    const maxThrottleWaitSecs = 0;
    return {
      serverUrl: this.server,
      tokenId,
      tokenSecret,
      environment,
      maxThrottleWaitSecs,
      sandboxChannelIdleTimeoutMs: unusedMs,
      sandboxV2: true,
    };
  }
}

/** The part of the class that its types hide. */
interface OpenClient {
  profile: Profile;
  createClient(profile: Profile): unknown;
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Security: the package reads `process.env` and `~/.modal.toml`, and takes the address of the server and more from nowhere else. So its settings are replaced
 * before it makes its connection.
 */
function clientOf({ ModalClient }: typeof import('modal'), profile: Profile): ModalClient {
  const Open = ModalClient as unknown as new (parameters: ModalClientParams) => OpenClient;
  class OwnClient extends Open {
    override createClient(given: Profile): unknown {
      for (const key of Object.keys(given)) Reflect.deleteProperty(given, key);
      return super.createClient(Object.assign(given, profile));
    }
  }
  const { tokenId = '', tokenSecret = '' } = profile;
  return new OwnClient({ tokenId, tokenSecret, logger: silent, logLevel: 'error' }) as unknown as ModalClient;
}
