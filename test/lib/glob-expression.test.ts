import { expect, it } from 'vitest';
import { globExpression } from '../../src/lib/glob-expression.ts';

const fits = (glob: string, path: string): boolean => new RegExp(`^${globExpression(glob)}$`).test(`./${path}`);

it.each([
  ['*.ts', ['a.ts', 'x/y/a.ts'], ['a.tsx', 'ts', 'a.ts/b']],
  ['/a.ts', ['a.ts'], ['x/a.ts']],
  ['src/*.ts', ['src/a.ts'], ['src/x/a.ts', 'x/src/a.ts']],
  ['src/**/*.ts', ['src/a.ts', 'src/x/y/a.ts'], ['a.ts']],
  ['**/src', ['src', 'x/src'], ['src/x']],
  ['src/**', ['src/a', 'src/x/a'], ['src']],
  ['{a,b{c,d}}.*', ['a.x', 'bc.x', 'bd.y'], ['b.x', 'c.x']],
  ['[a-c]?', ['a1', 'cz'], ['d1', 'a', 'a/b']],
  ['[!a]', ['b'], ['a']],
  ['a{b', ['a{b'], ['ab']],
  ['a,b', ['a,b'], ['a']],
  ['a.b+(c)|^$', ['a.b+(c)|^$'], ['axb']],
  ['\\*', ['*', 'x/*'], ['a']],
  ['[', ['['], ['a']],
])('%s matches the same paths as in gitignore', (glob, those, others) => {
  expect(those.filter((path) => !fits(glob, path))).toEqual([]);
  expect(others.filter((path) => fits(glob, path))).toEqual([]);
});
