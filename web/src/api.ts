import type { Chat, ChatList, FileInfo, Page, Secrets, SecretsAnswer, SignIn, Status } from './wire.ts';

/** What the gateway answered when it did not do it. `status` 0: no answer at all. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** The same may work later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Longer than anything but a file takes. */
const answersWithinMs = 20_000;
const notAnswered = 'The gateway does not answer.';

async function request(
  method: string,
  path: string,
  body?: BodyInit,
  headers: Record<string, string> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  try {
    return await fetch(`/api${path}`, {
      method,
      headers: { 'x-hermetic': '1', ...headers },
      signal,
      ...(body === undefined ? {} : { body }),
    });
  } catch {
    throw new ApiError(0, notAnswered);
  }
}

/** An answer that is cut, or does not come in time, is none. A file may take as long as it needs. */
async function ask<T>(method: string, path: string, body?: BodyInit, headers?: Record<string, string>): Promise<T> {
  const signal = body instanceof File ? null : AbortSignal.timeout(answersWithinMs);
  const response = await request(method, path, body, headers, signal);
  const answer = (await response.json().catch(() => undefined)) as (T & { error?: string }) | undefined;
  if (!response.ok) throw new ApiError(response.status, answer?.error ?? `The gateway answered ${response.status}.`);
  if (answer === undefined) throw new ApiError(0, notAnswered);
  return answer;
}

const json = { 'content-type': 'application/json' };
const post = <T>(path: string, body: unknown = {}): Promise<T> => ask('POST', path, JSON.stringify(body), json);

export const api = {
  login: (secret: { code: string } | { token: string }) => post('/login', secret),
  logout: () => post('/logout'),
  status: () => ask<Status>('GET', '/status'),
  secrets: () => ask<Secrets>('GET', '/secrets'),
  setSecret: (name: string, entry: { hosts: readonly string[]; value?: string }) =>
    ask<SecretsAnswer>('PUT', `/secrets/${encodeURIComponent(name)}`, JSON.stringify(entry), json),
  removeSecret: (name: string) => ask<SecretsAnswer>('DELETE', `/secrets/${encodeURIComponent(name)}`),
  signIns: async () => (await ask<{ signIns: SignIn[] }>('GET', '/sign-ins')).signIns,
  endSignIn: (id: string) => ask('DELETE', `/sign-ins/${encodeURIComponent(id)}`),
  chats: ({ search = '', after }: { search?: string; after?: string | undefined } = {}) =>
    ask<ChatList>('GET', `/chats?${new URLSearchParams({ ...(search !== '' && { search }), ...(after !== undefined && { after }) })}`),
  createChat: () => post<Chat>('/chats'),
  page: (chat: string, before?: number) => ask<Page>('GET', `/chats/${chat}/messages${before === undefined ? '' : `?before=${before}`}`),
  send: (chat: string, message: { id: string; text: string; files: readonly string[] }) => post(`/chats/${chat}/messages`, message),
  press: (chat: string, message: string, data: string) => post(`/chats/${chat}/press`, { id: crypto.randomUUID(), message, data }),
  stop: (chat: string) => post(`/chats/${chat}/stop`),
  upload: (chat: string, file: File) =>
    ask<FileInfo>('POST', `/chats/${chat}/files`, file, { 'x-file-name': encodeURIComponent(file.name || 'file') }),
  fileText: async (chat: string, file: string) => {
    const response = await request('GET', `/chats/${chat}/files/${file}`);
    if (!response.ok) throw new ApiError(response.status, `The gateway answered ${response.status}.`);
    return await response.text();
  },
  /** Whether the gateway answers, and to us. */
  ping: async (signal: AbortSignal) => {
    const { ok, status } = await request('GET', '/ping', undefined, {}, signal);
    if (!ok) throw new ApiError(status, `The gateway answered ${status}.`);
  },
  /** Of each chat what came after the number. */
  eventsUrl: (chats: ReadonlyMap<string, number>) =>
    `/api/events?${new URLSearchParams([...chats].map(([chat, after]) => ['chat', `${chat}:${after}`]))}`,
  fileUrl: (chat: string, file: string) => `/api/chats/${chat}/files/${file}`,
};
