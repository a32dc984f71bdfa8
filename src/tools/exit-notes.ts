/** Programs that answer a question with the code 1. */
const answering = new Set(
  ['grep', 'egrep', 'fgrep', 'zgrep', 'rg', 'ag', 'diff', 'colordiff', 'cmp', 'comm', 'test', '[', '[['].concat([
    'pgrep',
    'pkill',
    'which',
    'command',
    'type',
    'expr',
  ]),
);

/** Codes with which a program says more than that it failed. */
const meanings: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  grep: { 1: 'no line matched' },
  egrep: { 1: 'no line matched' },
  fgrep: { 1: 'no line matched' },
  zgrep: { 1: 'no line matched' },
  rg: { 1: 'nothing matched' },
  ag: { 1: 'nothing matched' },
  diff: { 1: 'the files differ' },
  colordiff: { 1: 'the files differ' },
  cmp: { 1: 'the files differ' },
  comm: { 1: 'the files differ' },
  test: { 1: 'the condition is false' },
  '[': { 1: 'the condition is false' },
  '[[': { 1: 'the condition is false' },
  find: { 1: 'some directories could not be read; the rest was searched' },
  pgrep: { 1: 'no process matched' },
  pkill: { 1: 'no process matched' },
  which: { 1: 'there is no such program on the PATH' },
  command: { 1: 'there is no such program on the PATH' },
  type: { 1: 'there is no such program on the PATH' },
  expr: { 1: 'the result is empty or 0' },
  curl: {
    6: 'the host name could not be resolved',
    7: 'the connection was refused or there is no network',
    22: 'the server answered with an error',
    28: 'it took too long',
  },
  git: { 1: 'with diff, grep or config: there is a difference, no match, or no such key' },
  ssh: { 255: 'the connection failed' },
  timeout: { 124: 'its time was over' },
};

/** Codes that mean the same for every program. */
const general: Readonly<Record<number, string>> = {
  126: 'found but could not be run: not executable, or the directory does not exist',
  127: 'there is no such program',
  134: 'it aborted (SIGABRT)',
  137: 'it was killed (SIGKILL)',
  139: 'it crashed (SIGSEGV)',
  141: 'the reader of its output stopped reading (SIGPIPE)',
};

/** The meaning of an exit code, when that is worth saying. By the last program of the command, which usually sets the code. */
export function exitNote(command: string, code: number): string | undefined {
  return code === 0 ? undefined : (meanings[lastProgram(command)]?.[code] ?? general[code]);
}

/** Whether the code is an answer, such as "no line matched", and no failure. */
export function isAnswer(command: string, code: number): boolean {
  return code === 1 && answering.has(lastProgram(command));
}

/** It usually sets the code of the command. */
function lastProgram(command: string): string {
  const last =
    command
      .trim()
      .split(/\s*(?:\|\||&&|[|;&\n])\s*/)
      .filter((part) => part !== '')
      .at(-1) ?? '';
  const words = last.split(/\s+/).filter((word) => !/^[A-Za-z_]\w*=/.test(word));
  return words[0]?.split('/').at(-1) ?? '';
}
