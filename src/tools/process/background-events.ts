import type { BackgroundEvent } from '../../core/background.ts';
import { printable } from '../../lib/printable.ts';
import { plainText } from '../../lib/terminal-text.ts';
import { withRemarks } from '../remarks.ts';
import type { BackgroundProcess, ProcessEvent, ProcessState } from './background-process.ts';

const maxCommandLength = 500;
const maxLineLength = 500;
const maxOutputLength = 2_000;
const longestSecret = 1_000;

/** An event of a process for listeners: short, printable and redacted. */
export function backgroundEvent(process: BackgroundProcess, event: ProcessEvent, redact: (text: string) => string): BackgroundEvent {
  const { id } = process.facts;
  const about = { process: id, command: cut(redact(process.facts.command), maxCommandLength) };
  switch (event.kind) {
    case 'started':
      return { ...about, kind: 'started', patterns: event.patterns };
    case 'matched': {
      const { pattern, line, suppressed } = event.report;
      return {
        ...about,
        kind: 'matched',
        pattern: redact(pattern),
        line: cut(printable(redact(plainText(line))), maxLineLength),
        suppressed,
      };
    }
    case 'ended': {
      const exitCode = event.state.kind === 'exited' ? event.state.code : undefined;
      // Security: cut after secrets were taken out: half a secret is not recognised.
      const printed = redact(lastOutput(process)).slice(-maxOutputLength);
      const output = process.network === undefined ? printed : withRemarks(printed, redact(process.network));
      return { ...about, kind: 'ended', outcome: outcomeOf(event.state), exitCode, output, isKnown: process.awaitedBy > 0 };
    }
  }
}

/** Security: what was kept may begin within a secret; its remainder would not be recognised, so that line or that key is left out. */
function lastOutput({ bytes, tail }: BackgroundProcess): string {
  const text = tail.toString();
  if (bytes <= tail.length) return plainText(text);
  const lineEnd = text.search(/[\r\n]/);
  if (lineEnd === -1) return plainText(text).slice(longestSecret);
  const lines = plainText(text.slice(lineEnd + 1));
  const keyEnd = /^(?:(?!-----BEGIN )[\s\S])*?-----END [^\n]*\n?/.exec(lines);
  return lines.slice(keyEnd?.[0].length ?? 0);
}

function outcomeOf(state: ProcessState): string {
  switch (state.kind) {
    case 'running':
      return 'is running';
    case 'exited':
      return `exited with code ${state.code}`;
    case 'killed':
      return `was ended by SIG${state.signal}`;
    case 'lost':
      return `is gone: ${state.reason}`;
  }
}

function cut(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
