import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { started } from '../lib/started.ts';

/** A thing on this machine that the sandbox must not reach. The proof that makes it removes it. */
export interface Bait {
  remove(): Promise<void>;
}

/** The sandbox may know what it did before this program has been told: waits a little for it to come true. */
export async function noticed(isTrue: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 50 && !isTrue(); tries += 1) await delay(20);
  return isTrue();
}

export function token(): string {
  return randomBytes(16).toString('hex');
}

export interface Listener extends Bait {
  port: number;
  /** Whether a client connected and sent this. */
  heard(word: string): boolean;
}

/** undefined when this machine has no such address. Sends nothing, and closes a connection once it has received something. */
export async function listenAt(address: string): Promise<Listener | undefined> {
  const words = new Set<string>();
  const server = createServer((socket) => {
    let text = '';
    socket.setTimeout(2_000, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (text.length < 64 && !text.includes('\n')) return;
      if (words.size < 1_000) words.add(text.split('\n')[0] ?? '');
      socket.destroy();
    });
  });
  server.listen(0, address);
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const remove = async (): Promise<void> => {
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, heard: (word) => words.has(word), remove };
}

export interface Witness extends Bait {
  pid: number;
  /** Is on its command line. */
  word: string;
  /** Whether a signal has ended it. */
  wasSignalled(): boolean;
}

/** A process that does nothing and dies of any signal, or with this program. */
export async function startWitness(): Promise<Witness> {
  const word = `hermetic-proof-${token()}`;
  const child = started(spawn('/bin/sh', ['-c', 'read -r nothing', word], { stdio: ['pipe', 'ignore', 'ignore'], env: {}, cwd: '/' }));
  await once(child, 'spawn');
  const exited = once(child, 'exit');
  const remove = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { pid: child.pid ?? 0, word, wasSignalled: () => child.signalCode !== null, remove };
}
