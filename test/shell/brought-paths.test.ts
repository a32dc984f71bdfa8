import { describe, expect, it } from 'vitest';
import type { Brought } from '../../src/core/approval.ts';
import { broughtIn, broughtKey, withBrought } from '../../src/shell/brought-paths.ts';
import type { Changes } from '../../src/shell/state.ts';

const nothing: Changes = new Map();
const downloaded = (path: string): Brought => ({ path, how: 'downloaded' });
const afterCommands = (...commands: readonly (readonly Brought[])[]): Changes =>
  commands.reduce((kept, paths) => withBrought(kept, paths), nothing);

describe('what commands brought', () => {
  it('remembers a path for 20 commands', () => {
    const others = Array.from({ length: 19 }, () => []);
    expect(broughtIn(afterCommands([downloaded('/w/x')], ...others))).toEqual([downloaded('/w/x')]);
    expect(afterCommands([downloaded('/w/x')], ...others, [])).toEqual(nothing);
  });

  it('keeps the newest record about a path, as the last', () => {
    const own: Brought = { path: '/w/x', how: 'own' };
    expect(broughtIn(afterCommands([downloaded('/w/x'), downloaded('/w/y')], [own]))).toEqual([downloaded('/w/y'), own]);
    expect(broughtIn(afterCommands([own], [downloaded('/w/x')]))).toEqual([downloaded('/w/x')]);
  });

  it('lets a directory stand for the oldest of too many paths', () => {
    const many = Array.from({ length: 150 }, (_, at) => downloaded(`/w/data/${at < 60 ? 'a' : 'b'}/${at}`));
    const kept = broughtIn(afterCommands(many));
    expect(kept).toHaveLength(100);
    expect(kept[0]).toEqual(downloaded('/w/data/a/'));
    expect(kept.at(-1)).toEqual(downloaded('/w/data/b/149'));
    expect(broughtIn(afterCommands(many, [downloaded('/etc/x'), ...many.slice(0, 99)]))[0]).toEqual(downloaded('/'));
  });

  it('forgets only what is the own of the session when there are too many', () => {
    const own = Array.from({ length: 150 }, (_, at): Brought => ({ path: `/w/${at}`, how: 'own' }));
    expect(broughtIn(afterCommands([downloaded('/w/x')], own))).toHaveLength(100);
    expect(broughtIn(afterCommands([downloaded('/w/x')], own))[0]).toEqual(downloaded('/w/'));
  });

  it.each(['', '{}', '[1]', '[{"path":"/w/x"}]', '['])('takes a damaged list for one that holds everything: %s', (text) => {
    const damaged: Changes = new Map([[broughtKey, text]]);
    expect(broughtIn(damaged)).toEqual([downloaded('/')]);
    expect(broughtIn(withBrought(damaged, []))).toEqual([downloaded('/')]);
  });

  it('leaves the state of the shell as it is', () => {
    const state: Changes = new Map([['variable A', 'declare -x A="1"']]);
    const kept = withBrought(state, [downloaded('/w/x')]);
    expect([...kept.keys()]).toEqual(['variable A', broughtKey]);
    expect(kept.get('variable A')).toBe('declare -x A="1"');
  });
});
