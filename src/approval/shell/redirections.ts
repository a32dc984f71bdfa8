import type { HereDoc, Redirection } from 'unbash';
import { resolvePaths } from '../checks/resolve.ts';
import { touchRead, touchWrite } from '../checks/touch.ts';
import { expandParts, expandText, expandWord } from './expand.ts';
import type { State } from './state.ts';
import { joined, unknown } from './values.ts';

/** Where a command reads from and what becomes of its output. */
export interface OpenRedirections {
  stdin: readonly string[] | undefined;
  /** Files that get what it prints. */
  outputs: readonly { path: string; append: boolean }[];
  /** Nothing is left for the pipe. */
  diverted: boolean;
}

const textOnly = new Set(['read', 'mapfile', 'readarray']);

export function openRedirections(redirects: readonly Redirection[], state: State, program: string | undefined): OpenRedirections {
  let stdin: readonly string[] | undefined;
  const outputs: { path: string; append: boolean }[] = [];
  let diverted = false;
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') {
      if (descriptorOf(redirect) <= 0) stdin = documentTexts(redirect, state);
      continue;
    }
    if (!redirect.target) {
      state.judgement.report('shell/unparseable', program);
      continue;
    }
    if (redirect.type === 'HereString') {
      stdin = expandText(redirect.target, state).map((text) => `${text}\n`);
      continue;
    }
    const targets = [...new Set(expandWord(redirect.target, state).flat())];
    const { operator } = redirect;
    for (const target of targets) {
      if (/^(?:\d+-?|-)$/.test(target) && operator.endsWith('&')) {
        // Another descriptor may be anything that was opened before.
        if (operator === '<&' && !/^(?:0|-)$/.test(target)) stdin = [unknown];
        continue;
      }
      if (operator.startsWith('<') || operator === '<>') {
        touchRead(target, program, state, !textOnly.has(program ?? ''));
        stdin = contentsOf(target, state);
      }
      if (operator.includes('>')) {
        touchWrite(target, program, state);
        const descriptor = descriptorOf(redirect);
        if (descriptor === -1 || descriptor === 1) {
          diverted = true;
          for (const path of resolvePaths(target, state)) if (path) outputs.push({ path, append: operator.includes('>>') });
        }
      }
    }
  }
  return { stdin, outputs, diverted };
}

/** -1 when the redirection names none. */
function descriptorOf({ descriptor }: Redirection): number {
  if (!descriptor) return -1;
  return descriptor.type === 'FileDescriptor' ? descriptor.value : 99;
}

function documentTexts({ operator, delimiter, body }: HereDoc, state: State): readonly string[] {
  const plain = delimiter?.quoted ? body.text : body.text.replace(/\\([\\$`])|\\\n/g, '$1');
  const texts = body.parts ? expandParts(body.parts, state) : [plain];
  return operator === '<<-' ? texts.map((text) => text.replace(/^\t+/gm, '')) : texts;
}

/** What a file holds, as far as the script itself put it there. */
export function contentsOf(target: string, state: State): readonly string[] {
  if (target === '/dev/null') return [''];
  const paths = resolvePaths(target, state);
  return paths.flatMap((path) => (path === undefined ? [unknown] : (state.files.get(path) ?? [unknown])));
}

/** Keeps what was printed into files, and gives what is left for the pipe. */
export function storeOutput(open: OpenRedirections, output: readonly string[], state: State): readonly string[] {
  for (const { path, append } of open.outputs) {
    if (path.startsWith('/dev/')) continue;
    state.files.set(path, append ? joined(state.files.get(path) ?? [''], output) : output);
  }
  return open.diverted ? [''] : output;
}
