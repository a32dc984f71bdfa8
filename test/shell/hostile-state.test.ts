import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { changesBetween, type Dump, dumpParser, parseDump, restoreScript } from '../../src/shell/state.ts';
import { fileStateStore } from '../../src/shell/state-store.ts';

const honest: Dump = {
  exports: 'declare -x A="1"\n',
  functionNames: 'declare -f f\n',
  functions: 'f () \n{ \n    :\n}\n',
  aliases: "alias a='b'\n",
  options: 'extglob:login_shell',
  umask: 'umask 0022\n',
  directory: '/tmp\n',
};

it('parses an unchanged state only once, and notices every difference', () => {
  const parse = dumpParser();
  const first = parse(honest);
  expect(parse({ ...honest })).toBe(first);
  const others: Partial<Dump>[] = [
    { exports: 'declare -x A="2"\n' },
    { functionNames: 'declare -fx f\n' },
    { functions: 'f () \n{ \n    ls\n}\n' },
    { aliases: "alias a='c'\n" },
    { options: 'extglob:failglob' },
    { umask: 'umask 0077\n' },
    { directory: '/usr\n' },
  ];
  for (const other of others) {
    expect(parse({ ...honest, ...other })).toEqual(parseDump({ ...honest, ...other }));
    expect(parse(honest)).toEqual(first);
  }
  const huge = { ...honest, exports: `declare -x A="${'x'.repeat(1024 * 1024)}"\n` };
  expect(parse(huge)).not.toBe(parse(huge));
});

describe('a state of eight megabytes', () => {
  const bytes = 8 * 1024 * 1024;
  const many = (unit: string): string => unit.repeat(Math.ceil(bytes / unit.length));
  const numbered = (unit: (index: number) => string): string => Array.from({ length: 600_000 }, (_, index) => unit(index)).join('');

  it.each<[string, Partial<Dump>]>([
    ['variables', { exports: numbered((index) => `declare -x V${index}="1"\n`) }],
    ['one variable again and again', { exports: many('declare -x A="1"\n') }],
    ['nested quotes', { exports: `declare -x A=${many(`"'`)}` }],
    ['quotes that never close', { exports: `declare -x A="${many('x')}` }],
    ['backslashes', { exports: `declare -x A="${many('\\')}` }],
    ['attributes', { exports: `declare -${many('x')}` }],
    ['one function again and again', { functions: many('f () \n') }],
    ['lines that could start a function', { functions: numbered((index) => `f${index} () \n`) }],
    ['names of functions', { functionNames: numbered((index) => `declare -f f${index}\n`) }],
    ['a line that is nearly a function', { functions: `${many(' () ')}x` }],
    ['empty lines', { functionNames: many('\n'), functions: many('\n') }],
    ['aliases', { aliases: numbered((index) => `alias a${index}='1'\n`) }],
    ['equals signs', { aliases: many('=\n') }],
    ['options', { options: numbered((index) => `${index.toString(36)}:`) }],
    ['a mask', { umask: `umask ${many('0')}x` }],
    ['a directory', { directory: `/${many('x\n')}` }],
  ])('parses eight megabytes of %s quickly', (_, part) => {
    const start = performance.now();
    const state = parseDump({ ...honest, ...part });
    if (state) expect(restoreScript(changesBetween(new Map(), state), state).length).toBeLessThan(2 * bytes);
    // Many times what it takes; what grows with the square of the length takes hours.
    expect(performance.now() - start).toBeLessThan(30_000);
  });
});

describe('a forged state', () => {
  it('drops a forged umask, directory or option', () => {
    const state = parseDump({ ...honest, umask: 'umask 0; touch x', directory: 'tmp/$(touch x)', options: 'a b;touch$(x):extglob' });
    expect(state?.has('umask')).toBe(false);
    expect(state?.has('directory')).toBe(false);
    for (const [key, text] of state ?? []) if (key.startsWith('option')) expect(text).toMatch(/^shopt -s [a-z0-9_]+$/);
  });

  it('stores variables named __proto__ and constructor as data', () => {
    const state = parseDump({ ...honest, exports: 'declare -x __proto__="1"\ndeclare -x constructor="2"\n' });
    expect([state?.get('variable __proto__'), state?.get('variable constructor')]).toEqual([
      'declare -x __proto__="1"',
      'declare -x constructor="2"',
    ]);
    expect(({} as Record<string, unknown>)['1']).toBeUndefined();
  });
});

describe('a state file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-state-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each([
    ['is not JSON', '{{{'],
    ['is empty', ''],
    ['is no list', '{"variable A": 1}'],
    ['is a list of other things', '[1, null, {}, [], ["variable A"]]'],
    ['has keys of other kinds', '[[5, "x"]]'],
    ['has values of other kinds', '[["directory", 7], ["umask", {"a": 1}]]'],
    ['has a zero in a value', '[["directory", "/tmp\\u0000echo"]]'],
    ['is deeply nested', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('treats a state file that %s as empty, and can write it again', (_, text) => {
    const path = join(directory, 'state.json');
    writeFileSync(path, text);
    const store = fileStateStore(path);
    expect(store.read()).toEqual(new Map());
    store.update(() => new Map([['umask', 'umask 0077']]));
    expect(fileStateStore(path).read()).toEqual(new Map([['umask', 'umask 0077']]));
  });

  it('keeps the state in memory when its file cannot be written', () => {
    const path = join(directory, 'occupied');
    mkdirSync(join(path, 'by something'), { recursive: true });
    const store = fileStateStore(path);
    store.update(() => new Map([['umask', 'umask 0077']]));
    store.update((kept) => new Map([...kept, ['directory', '/tmp']]));
    expect(store.read()).toEqual(
      new Map([
        ['umask', 'umask 0077'],
        ['directory', '/tmp'],
      ]),
    );
  });
});
