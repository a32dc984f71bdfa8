import type { Assignment } from 'unbash';
import { expandText, expandWord } from './expand.ts';
import type { State } from './state.ts';
import { isUnknown, joined, runningIndex, unknown } from './values.ts';

/** Sets what a word such as `NAME=value` or `NAME=(a b)` sets. */
export function assign(assignment: Assignment, state: State): void {
  const { name, value, append, index } = assignment;
  if (index) expandText(index, state);
  if (value.type === 'ArrayValue') {
    const elements = value.elements
      .flatMap((element) => expandWord(element, state)[0] ?? [])
      .map((text) => text.replace(/^\[[^\]]*\]=/, ''));
    state.variables.delete(name);
    state.arrays.set(name, append ? [...(state.arrays.get(name) ?? [unknown]), ...elements] : elements);
    return;
  }
  const texts = expandText(value, state);
  if (index) state.arrays.set(name, [...(state.arrays.get(name) ?? []), ...texts]);
  else {
    state.arrays.delete(name);
    state.variables.set(name, append ? joined(state.variables.get(name) ?? [unknown], texts) : texts);
  }
  noteAssignment(name, state);
}

const declaring = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);

/** The word an argument `NAME=value` is; a program that declares variables sets it. */
export function assignmentField(assignment: Assignment, state: State, program: string): string[][] {
  if (declaring.has(program)) {
    assign(assignment, state);
    if (program !== 'local' && program !== 'readonly') noteExport(assignment.name, state);
  }
  if (assignment.value.type === 'ArrayValue') return [[assignment.text]];
  const prefix = `${assignment.name}${assignment.append ? '+' : ''}=`;
  return expandText(assignment.value, state).map((text) => [prefix + text]);
}

/** Sets a variable for what follows; one that is exported already, also for the next commands of the session. */
export function assignLasting(assignment: Assignment, state: State): void {
  assign(assignment, state);
  if (state.variables.get(assignment.name)?.some((value) => value !== '')) noteLasting(assignment.name, state);
}

/** Security: the words of later commands then mean something else than they say: where `~` and `cd` lead, */
export function noteLasting(name: string, state: State): void {
  if (name === 'HOME' || name === 'CDPATH') state.judgement.report('code/injected', name);
}

/** and where a word ends. */
export function noteExport(name: string, state: State): void {
  if (name === 'IFS') state.judgement.report('code/injected', name);
  noteLasting(name, state);
}

/** Programs run what these say. */
const commandVariables = new Set([
  ...[
    'PROMPT_COMMAND',
    'GIT_SSH_COMMAND',
    'GIT_SSH',
    'GIT_EXTERNAL_DIFF',
    'GIT_PAGER',
    'GIT_EDITOR',
    'GIT_SEQUENCE_EDITOR',
    'GIT_ASKPASS',
    'SSH_ASKPASS',
  ],
  ...[
    'SUDO_ASKPASS',
    'PAGER',
    'MANPAGER',
    'EDITOR',
    'VISUAL',
    'BROWSER',
    'LESSOPEN',
    'LESSCLOSE',
    'GIT_PROXY_COMMAND',
    'RSYNC_RSH',
    'CVS_RSH',
  ],
]);
const loaders =
  /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|ENV|PYTHONSTARTUP|PERL5OPT|PERL5DB|RUBYOPT|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS)$/;

/** Reports what it means that a variable is set for the programs that follow. */
export function noteAssignment(name: string, state: State): void {
  const values = state.variables.get(name) ?? [''];
  if (values.some((value) => runningIndex.test(value))) state.judgement.report('code/unseen', name);
  if (loaders.test(name) && values.some((value) => value !== '' && (!/^PS\d/.test(name) || /\$\(|`/.test(value))))
    state.judgement.report('code/injected', name);
  if (
    name === 'NODE_OPTIONS' &&
    values.some((value) => isUnknown(value) || /--(?:require|import|loader|experimental-loader)\b|(?:^|\s)-r\s/.test(value))
  ) {
    state.judgement.report('code/injected', name);
  }
  if (/^(?:HISTFILE|HISTSIZE|HISTFILESIZE)$/.test(name) && values.some((value) => /^(?:0|)$|\/dev\/null/.test(value)))
    state.judgement.report('system/erase-traces', name);
  // Programs in a place that anybody can write to come before those of the system.
  if (name === 'PATH' && values.some((value) => /(?:^|:)(?:\/tmp|\/var\/tmp|\/dev\/shm)(?:\/|:|$)/.test(value)))
    state.judgement.report('code/injected', name);
  if (/^HERMETIC_/.test(name)) state.judgement.report('hermetic/start', name);
  if (!commandVariables.has(name)) return;
  for (const value of values) {
    if (isUnknown(value)) state.judgement.report('code/unseen', name);
    else state.judgement.deeper(() => state.judgement.runSource(value, state.fork(), ['']));
  }
}
