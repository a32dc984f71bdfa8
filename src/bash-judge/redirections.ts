import type { HereDoc, Redirection } from 'unbash';
import { contentOf, noteFiles, originIn, placesOf } from './made-files.ts';
import type { Shell } from './shell.ts';
import { resolvePaths, touchRead, touchWrite } from './touch.ts';
import { unknown } from './values.ts';
import { expandParts, expandText, expandWord } from './words.ts';

interface Streams {
  /** The input of the command, as far as it is known; undefined is the input it was started with. */
  stdin: readonly string[] | undefined;
  /** Its output goes to a file. */
  diverted: boolean;
  /** Something else goes where its output goes. */
  mixed: boolean;
  /** The files that its output goes to. */
  targets: string[];
  /** A file was opened. */
  opened: boolean;
}

/** The output that reaches the pipe. A file that gets text from elsewhere counts as brought later on. */
export function printedInto({ diverted, mixed, targets }: Streams, output: readonly string[], shell: Shell): readonly string[] {
  const origin = originIn(output);
  if (origin) for (const target of targets) shell.judgement.files.bring(target, origin);
  if (mixed) return [unknown];
  return diverted ? [] : output;
}

/** Judges what a command reads from and writes to. */
export function openRedirections(redirects: readonly Redirection[], shell: Shell, program: string | undefined): Streams {
  const streams: Streams = { stdin: undefined, diverted: false, mixed: false, targets: [], opened: false };
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') {
      const texts = documentTexts(redirect, shell);
      if (!redirect.descriptor || isDescriptor(redirect, 0)) streams.stdin = texts;
    } else if (!redirect.target) shell.judgement.report('shell/unparseable', program);
    else if (redirect.type === 'HereString') {
      const texts = expandText(redirect.target, shell);
      if (!redirect.descriptor || isDescriptor(redirect, 0)) streams.stdin = texts;
    } else {
      const targets = new Set(expandWord(redirect.target, shell).flat());
      // Security: of several it is not known which one is written.
      if (targets.size !== 1) shell.judgement.files.doubt();
      for (const target of targets) open(target, redirect, shell, program, streams);
    }
  }
  return streams;
}

function open(target: string, redirect: Exclude<Redirection, HereDoc>, shell: Shell, program: string | undefined, streams: Streams): void {
  const { operator } = redirect;
  if (/^(?:\d+-?|-)$/.test(target) && operator.endsWith('&')) {
    // Another descriptor may be anything that was opened before.
    if ((operator === '<&' && !redirect.descriptor) || isDescriptor(redirect, 0)) streams.stdin = [unknown];
    if (operator === '>&') streams.mixed = true;
    return;
  }
  // Security: when the one before it cannot be opened, this one is not.
  if (streams.opened) shell.judgement.files.doubt();
  streams.opened = true;
  if (operator.startsWith('<')) {
    touchRead(target, program, shell);
    streams.stdin = shell.judgement.streams.get(target) ?? [contentOf(target, shell)];
  }
  if (operator.includes('>')) {
    touchWrite(target, program, shell);
    noteFiles(target, 'written', shell);
    // Its old content is gone.
    if (!/>>|<>/.test(operator)) settleWritten(target, shell);
    streams.targets.push(...placesOf(target, shell));
    if (/^\/(?:dev\/(?:std|fd|tty)|proc\/)/.test(target)) streams.mixed = true;
    else if (!redirect.descriptor || isDescriptor(redirect, 1)) streams.diverted = true;
  }
}

function settleWritten(target: string, shell: Shell): void {
  const [path, ...others] = resolvePaths(target, shell);
  if (path !== undefined && others.length === 0) shell.judgement.files.settleWritten(path);
}

function isDescriptor({ descriptor }: Redirection, number: number): boolean {
  return descriptor?.type === 'FileDescriptor' && descriptor.value === number;
}

function documentTexts({ operator, delimiter, body }: HereDoc, shell: Shell): readonly string[] {
  const plain = delimiter?.quoted ? body.text : body.text.replace(/\\([\\$`])|\\\n/g, '$1');
  const texts = body.parts ? expandParts(body.parts, shell) : [plain];
  return operator === '<<-' ? texts.map((text) => text.replace(/^\t+/gm, '')) : texts;
}
