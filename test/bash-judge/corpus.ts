import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judge } from '../../src/bash-judge/index.ts';
import type { JudgeContext, Policy } from '../../src/core/approval.ts';

/** Judges here, without a thread. */
export const policy: Policy = { judge: async (action, context) => judge(action, context) };

/** On the machine itself, with nothing between. */
export const local: JudgeContext = {
  session: 'ada',
  disposable: false,
  hostPaths: [],
  source: 'chat',
  role: 'user',
  home: '/home/ada',
  ownPaths: ['/home/ada/.hermetic'],
  sessionPaths: ['/home/ada/project'],
  definitions: {},
};

export const cwd = '/home/ada/project';

const sandbox = '/home/ada/.hermetic/sandboxes/local/default';
export const workspace = `${sandbox}/workspace`;

/** As a session of the backend `local` has it: its workspace is below Hermetic's own home. */
export const session: JudgeContext = { ...local, sessionPaths: [workspace, `${sandbox}/home`] };

interface Judged {
  command: string;
  verdict: string;
}

/** What must be asked about or denied. */
export function dangerousCommands(): readonly Judged[] {
  return judgedCommands('dangerous.txt');
}

export function harmlessCommands(): readonly string[] {
  return lines('harmless.txt').map((line) => line.replaceAll('⏎', '\n'));
}

/** Ways from a session's workspace to what is Hermetic's. */
export function waysOut(): readonly Judged[] {
  return judgedCommands('ways-out.txt');
}

/** Sessions in which an agent edits files and runs them. */
export function conversations(): readonly { title: string; commands: readonly string[] }[] {
  const found: { title: string; commands: string[] }[] = [];
  for (const line of lines('conversations.txt')) {
    if (line.startsWith('== ')) found.push({ title: line.slice(3), commands: [] });
    else found.at(-1)?.commands.push(line.replaceAll('⏎', '\n'));
  }
  return found;
}

function judgedCommands(name: string): readonly Judged[] {
  return lines(name).map((line) => {
    const [verdict = '', command = ''] = line.split('\t');
    return { verdict, command: command.replaceAll('⏎', '\n') };
  });
}

function lines(name: string): readonly string[] {
  return readFileSync(join(import.meta.dirname, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Ways to have something else run a command, through which the judge sees it. */
export const wrappings: readonly ((command: string) => string)[] = [
  (command) => `sh -c '${command}'`,
  (command) => `eval '${command}'`,
  (command) => `( ${command} )`,
  (command) => `true && { ${command}; }`,
  (command) => `if ls; then ${command}; fi`,
  (command) => `for i in 1; do ${command}; done`,
  (command) => `x=$( ${command} )`,
  (command) => `around() { ${command}; }; around`,
  (command) => `bash <<'E'\n${command}\nE`,
  (command) => `ssh host '${command}'`,
  (command) => `${command}\n)`,
  (command) => `${command}\necho "`,
  (command) => `ls\n${command}\nif true; then`,
  (command) => `nohup bash -lc '${command}' &`,
];

/** Ways through which it sees only that something runs that it cannot see. */
export const blindWrappings: readonly ((command: string) => string)[] = [
  (command) => `echo '${command}' | bash`,
  (command) => `printf '%s' '${command}' > x.sh; bash x.sh`,
  (command) => `python3 -c 'import os; os.system("${command}")'`,
  (command) => `eval "$(echo '${command}')"`,
  (command) => `awk 'BEGIN { system("${command}") }'`,
];

export function isWrappable(command: string): boolean {
  return !/[\n'\\#]|<<|^\s*(?:if|for|while|case|coproc)|[&;]$/.test(command);
}
