import { renderUnicodeCompact } from 'uqr';
import { linkText } from '../app/status/gateway-status.ts';
import type { Channel } from '../core/channel.ts';

const everyMs = 1000;
/** WhatsApp makes a new one every some seconds: whoever is not there need not find hundreds. */
const maxCodes = 12;

/**
 * Shows at the terminal how to link an account, until the signal. Security: on nothing but a terminal, because what is written elsewhere ends up in
 * a log, and whoever reads the code there could link an account of theirs.
 */
export function showLinks(channels: Iterable<Channel>, stream: NodeJS.WritableStream, signal: AbortSignal): void {
  if (!(stream as { isTTY?: boolean }).isTTY) return;
  const watched = [...channels].map((channel) => ({ channel, shown: '', codes: 0 }));
  const look = (): void => {
    for (const one of watched) {
      const { kind, state } = one.channel;
      const link = state.kind === 'linking' ? (state.code ?? state.qr ?? '') : '';
      if (state.kind === 'up') one.codes = 0;
      if (state.kind !== 'linking' || link === '' || link === one.shown || one.codes > maxCodes) continue;
      one.shown = link;
      one.codes += 1;
      if (one.codes > maxCodes) stream.write(`hermetic: ${kind} still waits to be linked. The page shows how, under Status.\n`);
      else stream.write(`${state.code === undefined ? drawn(link) : ''}hermetic: ${kind}: ${linkText(state, 'this')}\n`);
    }
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  look();
}

/** White on black, whatever the colours of the terminal are: a filled half is a light one. */
function drawn(qr: string): string {
  const lines = renderUnicodeCompact(qr, { border: 2 }).split('\n');
  return `\n${lines.map((line) => `\u001b[97;40m${line}\u001b[0m`).join('\n')}\n`;
}
