import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { abortAfter } from '../../lib/deadline.ts';
import { CallError, connectionError } from '../call-error.ts';
import { readFileBody } from '../read-body.ts';
import type { Baileys, MediaConnection } from './baileys.ts';
import { type MediaKind, mediaKinds } from './content.ts';

const fileHost = 'https://mmg.whatsapp.net';
const origin = 'https://web.whatsapp.com';
const macBytes = 10;
/** At most one block is added, and the code that proves the rest. */
const maxOverhead = 16 + macBytes;
const transferMs = 300_000;

/** A file as it lies at WhatsApp: encrypted, with a key that only the chat has. */
export interface FileRef {
  kind: MediaKind;
  path: string;
  key: Buffer;
  encryptedHash: Buffer;
  hash: Buffer;
}

/** Security: it comes from a message, and nobody checked it. */
export function fileRefOf(id: string): FileRef | undefined {
  try {
    const [kind, path, key, encryptedHash, hash] = JSON.parse(id) as unknown[];
    if (!mediaKinds.includes(kind as MediaKind) || typeof path !== 'string') return undefined;
    const [keyBytes, encrypted, plain] = [key, encryptedHash, hash].map((part) => Buffer.from(String(part), 'base64'));
    if (keyBytes?.length !== 32 || encrypted?.length !== 32 || plain?.length !== 32) return undefined;
    return { kind: kind as MediaKind, path, key: keyBytes, encryptedHash: encrypted, hash: plain };
  } catch {
    return undefined;
  }
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

export async function encryptFile(baileys: Pick<Baileys, 'getMediaKeys'>, data: Uint8Array, kind: MediaKind) {
  const key = randomBytes(32);
  const { iv, cipherKey, macKey } = await baileys.getMediaKeys(key, kind);
  const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
  const encrypted = Buffer.concat([cipher.update(data), cipher.final()]);
  const mac = createHmac('sha256', macKey).update(iv).update(encrypted).digest().subarray(0, macBytes);
  const body = Buffer.concat([encrypted, mac]);
  return { body, key, encryptedHash: sha256(body), hash: sha256(data) };
}

export async function decryptFile(baileys: Pick<Baileys, 'getMediaKeys'>, body: Buffer, ref: FileRef): Promise<Buffer> {
  const { iv, cipherKey, macKey } = await baileys.getMediaKeys(ref.key, ref.kind);
  const encrypted = body.subarray(0, -macBytes);
  const mac = createHmac('sha256', macKey).update(iv).update(encrypted).digest().subarray(0, macBytes);
  const wrong = new CallError('the file is not the one that was sent', { status: 422 });
  if (body.length <= macBytes || !timingSafeEqual(mac, body.subarray(-macBytes)) || !sha256(body).equals(ref.encryptedHash)) throw wrong;
  const data = decrypted(encrypted, cipherKey, iv);
  if (!data || !sha256(data).equals(ref.hash)) throw wrong;
  return data;
}

/** undefined when its sender made it of something else. */
function decrypted(encrypted: Buffer, key: Uint8Array, iv: Uint8Array): Buffer | undefined {
  try {
    const decipher = createDecipheriv('aes-256-cbc', key, iv);
    return Buffer.concat([decipher.update(encrypted), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Where files of WhatsApp are. All errors are `CallError`. */
export class FileHosts {
  readonly #apiRoot: string | undefined;

  constructor(apiRoot: string | undefined) {
    this.#apiRoot = apiRoot === undefined ? undefined : new URL(apiRoot).origin;
  }

  /** No more than a file of this many bytes. */
  async download(path: string, maxBytes: number): Promise<Buffer> {
    const address = addressAt(this.#apiRoot ?? fileHost, path);
    // Security: a message may name any address; only its path counts, at WhatsApp's own host.
    if (!address) throw new CallError('a file at an address that is not one of WhatsApp', { status: 400 });
    return await transfer(address, { headers: { origin } }, maxBytes + maxOverhead);
  }

  /** Resolves with the path of the file. */
  async upload(body: Buffer, encryptedHash: Buffer, kind: MediaKind, { hosts, auth }: MediaConnection): Promise<string> {
    const host = hosts.map(({ hostname }) => hostname).find((name) => /^[\w.-]+\.whatsapp\.net$/.test(name));
    const root = this.#apiRoot ?? (host === undefined ? undefined : `https://${host}`);
    if (root === undefined) throw new CallError('it named no place for files', { status: 503 });
    const token = encryptedHash.toString('base64url');
    const query = new URLSearchParams({ auth, token });
    const headers = { origin, 'content-type': 'application/octet-stream' };
    const answer = await transfer(`${root}/mms/${kind}/${token}?${query}`, { method: 'POST', headers, body: new Uint8Array(body) }, 65_536);
    const path = pathIn(answer);
    if (path === undefined) throw new CallError('it did not take the file', { status: 500 });
    return path;
  }
}

/** undefined when it would lead elsewhere. */
function addressAt(root: string, path: string): string | undefined {
  if (!/^\/[^/\\]/.test(path) || !URL.canParse(path, root)) return undefined;
  const address = new URL(path, root);
  return address.origin === new URL(root).origin ? address.href : undefined;
}

function pathIn(answer: Buffer): string | undefined {
  try {
    const { direct_path: path } = JSON.parse(answer.toString()) as { direct_path?: unknown };
    return typeof path === 'string' && path.startsWith('/') ? path : undefined;
  } catch {
    return undefined;
  }
}

async function transfer(address: string, request: RequestInit, maxBytes: number): Promise<Buffer> {
  try {
    return await abortAfter({ ms: transferMs }, async (signal) => {
      const answer = await fetch(address, { ...request, signal, redirect: 'error' });
      return await readFileBody(answer, maxBytes);
    });
  } catch (error) {
    throw error instanceof CallError ? error : connectionError(error);
  }
}
