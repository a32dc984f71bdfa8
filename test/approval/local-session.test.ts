import { describe, expect, it } from 'vitest';
import { policy } from '../../src/approval/policy.ts';
import { dangerousCommands, harmlessCommands, isWrappable, session, waysOut, workspace, wrappings } from './corpus.ts';

const judge = (command: string, cwd = workspace) => policy.judge({ kind: 'command', command, cwd }, session).kind;
const verdicts = (commands: readonly string[], cwd?: string) =>
  Object.fromEntries(commands.map((command) => [command, judge(command, cwd)]).filter(([, verdict]) => verdict !== 'allow'));

/** From the top of the workspace `..` is Hermetic's directory for the sandbox. */
const leavingTheWorkspace = {
  // They would write beside the workspace.
  'git worktree add ../wt': 'deny',
  'rsync -a --exclude node_modules . ../copy': 'deny',
  "rsync -av --exclude='.git' ./ ../backup/": 'deny',
  // Whatever is written through a link looks like the session's.
  'ln -s ../shared shared': 'deny',
  // It would read beside the workspace.
  'cmake .. -DCMAKE_BUILD_TYPE=Release': 'ask',
};

describe('a session on the machine itself', () => {
  it('does everyday work in its workspace unasked, as long as it stays there', () => {
    expect(verdicts(harmlessCommands())).toEqual(leavingTheWorkspace);
    expect(verdicts(harmlessCommands(), `${workspace}/project`)).toEqual({});
  });

  it('does nothing dangerous unasked, and nothing that nobody may allow', () => {
    const wrong = dangerousCommands().filter(
      ({ command, refused }) => judge(command) !== 'deny' && (refused || judge(command) === 'allow'),
    );
    expect(wrong).toEqual([]);
  });

  it("finds no way to Hermetic's own files", () => {
    const ways = waysOut();
    expect(ways.filter(({ command, verdict }) => judge(command) !== verdict).map((way) => ({ ...way, is: judge(way.command) }))).toEqual(
      [],
    );
    expect(new Set(ways.map(({ command }) => command)).size).toBe(ways.length);
  });

  it('finds none by having something else run it', () => {
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
    'docker run --rm -v "$PWD":/app -w /app node:24 npm test',
    'docker run --rm -v "$PWD:/app:ro" node:24 npm test',
    'docker run --rm --volume="$PWD/data:/data" node:24 npm test',
    'docker run --rm --mount type=bind,source="$PWD",target=/app node:24 npm test',
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
    'cd src; make; cd -; make',
    'pushd src; touch a; popd; touch b',
    'echo x > notes-$(date +%F).txt',
    'cd .. && cd workspace && touch x',
    'cd .. && pwd && cd - && make',
    'cd src && { touch x; cd -; } && touch y',
    'go() { cd "$1" && mkdir -p out; }; go src',
    'walk() { for f in "$1"/*; do [ -d "$f" ] && walk "$f"; done; }; walk src; touch done',
    'i=0; while [ $i -lt 5 ]; do mkdir -p "d$i"; i=$((i + 1)); done',
    'for d in a b c; do cd $d; touch x; cd ..; done',
    'for d in a b c; do (cd $d && touch x); done',
    'for i in 1 2 3; do mkdir -p "step-$i"; done',
    'mkdir -p build && cd build && cmake .. && make',
    `python3 -c "print('${workspace}/notes.txt')"`,
    `python3 -c "print('../x')"`,
    'node -p "require(\'./package.json\').version"',
    'curl "https://example.com/?path=../y"',
    `trap 'rm -f "$PWD/lock"' EXIT; touch lock`,
    'vim -es -c "%s/a/b/" -c wq notes.txt',
    'shopt -s globstar nullglob; ls **/*.ts',
    'find . -name "*.sh" -exec chmod +x {} +',
    'ln -s ../lib/x.js bin/x',
    'cd bin && ln -s ../lib/x.js x',
    'ln -sf "$PWD/bin/tool" bin/t',
    'gcc -Iinclude -Lsrc/lib -o app main.c',
    'tar -C src -cf - .',
    'tar xf a.tar -Cvendor',
    'cat /proc/self/cwd/notes.txt',
  ])('is not asked about %s', (command) => {
    expect(judge(command)).toBe('allow');
  });
});
