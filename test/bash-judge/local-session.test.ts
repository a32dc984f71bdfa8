import { describe, expect, it } from 'vitest';
import { judge as judgeAction } from '../../src/bash-judge/index.ts';
import { dangerousCommands, harmlessCommands, isWrappable, session, waysOut, workspace, wrappings } from './corpus.ts';

const judge = (command: string, cwd = workspace) => judgeAction({ kind: 'command', command, cwd }, session).kind;
const verdicts = (commands: readonly string[], cwd?: string) =>
  Object.fromEntries(commands.map((command) => [command, judge(command, cwd)]).filter(([, verdict]) => verdict !== 'allow'));

/** Where a session has a workspace of its own, the project that others work in is outside it. */
const leavingTheWorkspace = { 'cd ~/project && npm run dev': 'ask' };

describe('a session on the host', () => {
  it('allows everyday commands in the workspace', () => {
    expect(verdicts(harmlessCommands())).toEqual(leavingTheWorkspace);
    expect(verdicts(harmlessCommands(), `${workspace}/project`)).toEqual(leavingTheWorkspace);
  });

  it('allows no dangerous command on the host', () => {
    const wrong = dangerousCommands().filter(
      ({ command, verdict }) => judge(command) !== 'deny' && (verdict === 'deny' || judge(command) === 'allow'),
    );
    expect(wrong).toEqual([]);
  });

  it("prevents every known way to Hermetic's own files", () => {
    const ways = waysOut();
    expect(ways.filter(({ command, verdict }) => judge(command) !== verdict).map((way) => ({ ...way, is: judge(way.command) }))).toEqual(
      [],
    );
    expect(new Set(ways.map(({ command }) => command)).size).toBe(ways.length);
  });

  it("prevents every wrapped way to Hermetic's own files", () => {
    const rank = ['allow', 'ask', 'deny'];
    const safer = waysOut()
      .filter(({ command }) => isWrappable(command))
      .flatMap(({ command, verdict }) => wrappings.map((around) => ({ wrapped: around(command), verdict })))
      .filter(({ wrapped, verdict }) => rank.indexOf(judge(wrapped)) < rank.indexOf(verdict));
    expect(safer).toEqual([]);
  });

  it.each([
    'git tag "v$version"',
    'git checkout "release/$version"',
    'f() { local x=$1; echo "$x"; }; f 1',
    'f() { local x=../$1; echo "$x"; }; f 1',
    'mk() { mkdir -p "out/$1"; }; mk a',
    'PYTHONPATH="$PWD/src:$PWD/lib" python3 -m pytest',
    "jq '.[] | .name' x.json",
    "jq -r '.[0].name' x.json",
    "grep -o '.*' notes.txt",
    "grep -c '..' notes.txt",
    "sed 's/.*/x/' notes.txt",
    "sed -n '/../p' notes.txt",
    "awk '/.*/ { print $1 }' notes.txt",
    'cat .[a-z]*rc',
    'ls .[!.]*',
    'cd src && ls .*',
    'cd src && cd .. && touch x',
    'cd src && cd - && touch x',
    'pushd src; touch a; popd; touch b',
    'echo x > notes-$(date +%F).txt',
    'cd .. && cd workspace && touch x',
    'cd .. && pwd && cd - && make',
    'cd src && { touch x; cd -; } && touch y',
    'go() { cd "$1" && mkdir -p out; }; go src',
    'i=0; while [ $i -lt 5 ]; do mkdir -p "d$i"; i=$((i + 1)); done',
    'for d in a b c; do (cd $d && touch x); done',
    'for i in 1 2 3; do mkdir -p "step-$i"; done',
    'mkdir -p build && cd build && cmake .. && make',
    'curl "https://example.com/?path=../y"',
    `trap 'rm -f "$PWD/lock"' EXIT; touch lock`,
    'shopt -s globstar nullglob; ls **/*.ts',
    'find . -name "*.sh" -exec chmod +x {} +',
    'ln -s ../lib/x.js bin/x',
    'cd bin && ln -s ../lib/x.js x',
    'ln -sf "$PWD/bin/tool" bin/t',
    'gcc -Iinclude -Lsrc/lib -o app main.c',
    'tar -C src -cf - .',
    'tar xf a.tar -Cvendor',
    'cat /proc/self/cwd/notes.txt',
  ])('allows the everyday command %s', (command) => {
    expect(judge(command)).toBe('allow');
  });
});
