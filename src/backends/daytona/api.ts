import type { ApiKeysApi, CreateSandbox, SandboxApi } from '@daytona/api-client';
import { HermeticError } from '../../core/errors.ts';
import { abortAfter } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { SshTarget } from '../../lib/ssh/target.ts';
import { loadPackage } from '../cloud/load-package.ts';
import type { BackendContext } from '../context.ts';
import { accountIn, type DaytonaAccount } from './account.ts';
import { type Found, foundIn, keyIn, pageIn, sshAccessIn } from './api-answers.ts';
import { noAnswerError, refusalError, strangeAnswerError } from './api-errors.ts';

const wantedPackage = { name: '@daytona/api-client', version: '0.216.0' };
const callMs = 30_000;
/** Making one waits for its place. */
const createMs = 120_000;
const maxAnswerBytes = 16 * 1024 * 1024;
const pageSize = 100;
/** Security: a server may always name a next page. */
const maxPages = 100;
/** It is used at once; what is connected stays connected. */
const tokenMinutes = 5;
const neededPermissions = ['write:sandboxes', 'delete:sandboxes'];

interface Client {
  sandboxes: SandboxApi;
  keys: ApiKeysApi;
}

interface Connection {
  account: DaytonaAccount;
  /** Its calls end with the signal. */
  client(signal: AbortSignal): Client;
}

type Call = (client: Client, organization: string | undefined) => Promise<{ data: unknown }>;

/** The calls of Daytona's API, each in bounded time, never repeated by itself, and with its failure in words. */
export class DaytonaApi {
  readonly #environment: BackendContext['environment'];
  #connection: Promise<Connection> | undefined;

  constructor({ environment }: Pick<BackendContext, 'environment'>) {
    this.#environment = environment;
  }

  /** Who is asked, and as whom. */
  async account(): Promise<string> {
    const { host } = await this.#connect().then(({ account }) => account);
    const key = await this.#call(({ keys }, organization) => keys.getCurrentApiKey(organization), keyIn);
    const missing = neededPermissions.filter((permission) => !key.permissions.includes(permission));
    if (missing.length > 0) {
      throw new HermeticError('backend/not-permitted', `The API key "${key.name}" may not ${missing.join(' or ')}.`, {
        hint: 'Make an API key with these permissions in the dashboard of Daytona.',
      });
    }
    return `${host}, as the API key "${key.name}"`;
  }

  /** The API does not say to which organization a key belongs, only to which user. */
  async owner(): Promise<string> {
    const { host, organization } = await this.#connect().then(({ account }) => account);
    const { userId } = await this.#call(({ keys }, known) => keys.getCurrentApiKey(known), keyIn);
    return [`user ${userId}`, ...(organization === undefined ? [] : [`organization ${organization}`]), `at ${host}`].join(' ');
  }

  create(body: CreateSandbox, signal: AbortSignal | undefined): Promise<Found> {
    const ms = createMs;
    return this.#call(({ sandboxes }, organization) => sandboxes.createSandbox(body, organization), foundIn, { ms, signal });
  }

  get(id: string, signal?: AbortSignal): Promise<Found> {
    const call: Call = ({ sandboxes }, organization) => sandboxes.getSandbox(id, organization);
    return this.#call(call, foundIn, { signal });
  }

  async start(id: string): Promise<void> {
    await this.#call(({ sandboxes }, organization) => sandboxes.startSandbox(id, organization), anything);
  }

  /** Brings one back from an error, and starts it. */
  async recover(id: string): Promise<void> {
    await this.#call(({ sandboxes }, organization) => sandboxes.recoverSandbox(id, organization, false), anything);
  }

  async stop(id: string): Promise<void> {
    await this.#call(({ sandboxes }, organization) => sandboxes.stopSandbox(id, organization), anything);
  }

  /** By its id or its name. */
  async delete(idOrName: string): Promise<void> {
    await this.#call(({ sandboxes }, organization) => sandboxes.deleteSandbox(idOrName, organization), anything);
  }

  /** Those with all of these labels. */
  async list(labels: Readonly<Record<string, string>>): Promise<Found[]> {
    const filter = JSON.stringify(labels);
    const found: Found[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const call: Call = ({ sandboxes }, organization) =>
        sandboxes.listSandboxes(organization, cursor, pageSize, undefined, undefined, filter);
      const { items, next } = await this.#call(call, pageIn);
      found.push(...items.map(foundIn).filter((one) => one !== undefined));
      // Security: a filter that is not understood must not give us the sandboxes of others.
      if (next === undefined) return found.filter((one) => Object.entries(labels).every(([name, value]) => one.labels[name] === value));
      cursor = next;
    }
    // Security: what is missing from half a list would look gone.
    throw new HermeticError('backend/unavailable', 'Daytona lists sandboxes without end.');
  }

  /** A new token for one connection by ssh. Earlier ones of the sandbox end with it. */
  sshAccess(id: string, gateway: Pick<SshTarget, 'host' | 'port'> | undefined): Promise<SshTarget> {
    return this.#call(
      ({ sandboxes }, organization) => sandboxes.createSshAccess(id, organization, tokenMinutes),
      (answer) => sshAccessIn(answer, gateway),
    );
  }

  /** `read` gives undefined for what is no answer of this API. */
  async #call<Answer>(
    call: Call,
    read: (answer: unknown) => Answer | undefined,
    limits: { ms?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<Answer> {
    const { ms = callMs, signal } = limits;
    const { account, client } = await this.#connect();
    const { host, organization } = account;
    const answer = await abortAfter({ ms, signal }, async (aborted) => {
      try {
        return (await call(client(aborted), organization)).data;
      } catch (error) {
        // Security: an error of the package holds the request, with the key.
        throw signal?.aborted ? signal.reason : failureOf(error, host, aborted.aborted ? `not in ${ms / 1000} s` : undefined);
      }
    });
    const parsed = read(answer);
    if (parsed === undefined)
      throw strangeAnswerError(host, typeof answer === 'string' ? 'it answers with text' : 'its answer has another form');
    return parsed;
  }

  /** Rejects when the package or the key is missing; the next call looks again. */
  #connect(): Promise<Connection> {
    this.#connection ??= connect(this.#environment).catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }
}

async function connect(environment: BackendContext['environment']): Promise<Connection> {
  const account = accountIn(environment);
  const { ApiKeysApi, Configuration, SandboxApi } = await loadPackage('Daytona', wantedPackage, () => import('@daytona/api-client'));
  const client = (signal: AbortSignal): Client => {
    const configuration = new Configuration({
      basePath: account.url,
      accessToken: account.apiKey,
      // Security: neither a proxy of the process environment nor another server gets the key.
      baseOptions: { signal, proxy: false, maxRedirects: 0, maxContentLength: maxAnswerBytes, headers: { 'User-Agent': 'hermetic' } },
    });
    return { sandboxes: new SandboxApi(configuration), keys: new ApiKeysApi(configuration) };
  };
  return { account, client };
}

function anything(): true {
  return true;
}

/** What the package throws, by its form. */
interface PackageError {
  code?: unknown;
  response?: { status?: unknown; data?: unknown; headers?: Readonly<Record<string, unknown>> };
}

function failureOf(error: unknown, host: string, late: string | undefined): HermeticError {
  const { response, code } = (error ?? {}) as PackageError;
  // With a status of success only half of the answer came.
  if (late !== undefined || typeof response?.status !== 'number' || response.status < 300) {
    return noAnswerError(host, late ?? (typeof code === 'string' ? code : errorText(error)));
  }
  const { status, data, headers } = response;
  const seconds = Number(headers?.['retry-after']);
  const retryAfterMs = seconds > 0 && seconds <= 3600 ? seconds * 1000 : undefined;
  if (status >= 300 && status < 400) return strangeAnswerError(host, `it sends us elsewhere (HTTP status ${status})`);
  return refusalError(status, messageIn(data), retryAfterMs);
}

function messageIn(data: unknown): string {
  if (typeof data === 'string') return /<html|<!doctype/i.test(data) ? 'it answered with a web page' : data;
  const { message } = (data ?? {}) as { message?: unknown };
  // Of a body that does not fit, the API lists what is wrong.
  return Array.isArray(message) ? message.join('; ') : typeof message === 'string' ? message : '';
}
