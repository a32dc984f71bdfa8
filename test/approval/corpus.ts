import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Circumstances } from '../../src/core/approval.ts';

/** On the machine itself, with nothing between. */
export const local: Circumstances = {
  disposable: false,
  hostPaths: [],
  source: 'chat',
  role: 'user',
  home: '/home/ada',
  ownPaths: ['/home/ada/.hermetic'],
  definitions: {},
};

export const cwd = '/home/ada/project';

const sandbox = '/home/ada/.hermetic/sandboxes/local/default';
export const workspace = `${sandbox}/workspace`;

/** As a session of the backend `local` has it: its workspace is below Hermetic's own home. */
export const session: Circumstances = { ...local, sessionPaths: [workspace, `${sandbox}/home`] };

interface Dangerous {
  command: string;
  /** Rules it must raise. */
  rules: readonly string[];
  refused: boolean;
}

export function dangerousCommands(): readonly Dangerous[] {
  return lines('dangerous.txt').map((line) => {
    const [names = '', command = ''] = line.split('\t');
    return { command: command.replaceAll('⏎', '\n'), rules: names.replaceAll('!', '').split(','), refused: names.startsWith('!') };
  });
}

export function harmlessCommands(): readonly string[] {
  return lines('harmless.txt').map((line) => line.replaceAll('⏎', '\n'));
}

/** Ways from a session's workspace to what is Hermetic's. */
export function waysOut(): readonly { command: string; verdict: string }[] {
  return lines('ways-out.txt').map((line) => {
    const [verdict = '', command = ''] = line.split('\t');
    return { verdict, command: command.replaceAll('⏎', '\n') };
  });
}

function lines(name: string): readonly string[] {
  return readFileSync(join(import.meta.dirname, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Ways to have something else run a command. */
export const wrappings: readonly ((command: string) => string)[] = [
  (command) => `sh -c '${command}'`,
  (command) => `eval '${command}'`,
  (command) => `( ${command} )`,
  (command) => `true && { ${command}; }`,
  (command) => `if ls; then ${command}; fi`,
  (command) => `for i in 1; do ${command}; done`,
  (command) => `x=$( ${command} )`,
  (command) => `f() { ${command}; }; f`,
  (command) => `bash <<'E'\n${command}\nE`,
  (command) => `echo '${command}' | bash`,
  (command) => `ssh host '${command}'`,
  (command) => `${command}\n)`,
  (command) => `${command}\necho "`,
  (command) => `ls\n${command}\nif true; then`,
  (command) => `nohup bash -lc '${command}' &`,
];

export function isWrappable(command: string): boolean {
  return !/[\n'\\#]|<<|^\s*(?:if|for|while|case|coproc)|[&;]$/.test(command);
}
