import { join } from 'node:path';
import type { Button, Outgoing } from '../../core/channel.ts';

/**
 * How `hermetic chat` and a running gateway talk. The terminal says `hello`, is asked to `identify` itself by opening a file, and is let in or told
 * why not. Then it calls `message`, `press`,
 * `interrupt` and `isSettled`; the gateway calls `show` and `edit`, and tells it `activity` and `noticed`.
 */
export const protocolVersion = 2;

/** Where a gateway takes terminals. */
export function terminalSocket(home: string): string {
  return join(home, 'terminal.sock');
}

export interface Hello {
  version: number;
  /** Which conversation. */
  chat: string;
  /** How the person is called. */
  name: string;
  /** A person sees texts grow there. */
  isLive: boolean;
}

/** The answer to `hello`. */
export type Welcome = { ok: true } | { ok: false; message: string; hint: string };

export interface SentMessage {
  text: string;
  buttons: readonly (readonly Button[])[] | undefined;
  file: { name: string; base64: string } | undefined;
}

export function sentMessage({ text, buttons, file }: Outgoing): SentMessage {
  return { text, buttons, file: file && { name: file.name, base64: Buffer.from(file.data).toString('base64') } };
}

export function receivedMessage({ text, buttons, file }: SentMessage): Outgoing {
  return { text, buttons, file: file && { name: file.name, data: Buffer.from(file.base64, 'base64') } };
}
