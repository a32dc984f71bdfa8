import { describe, expect, it } from 'vitest';
import { sandboxEnvironment } from '../../src/sandboxes/environment.ts';

const nothing = { forward: [], passthrough: [], fixed: {} };

describe('the environment of a sandbox', () => {
  it('has nothing that was not named', () => {
    expect(sandboxEnvironment(nothing, { HOME: '/root', OPENAI_API_KEY: 'secret' }).env).toEqual({});
  });

  it('lets plain names through and holds back what looks like a credential', () => {
    const passthrough = ['EDITOR', 'OPENAI_API_KEY', 'GH_TOKEN', 'DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY'];
    const values = Object.fromEntries(passthrough.map((name) => [name, 'value']));
    const { env, withheld } = sandboxEnvironment({ ...nothing, passthrough }, values);
    expect(env).toEqual({ EDITOR: 'value' });
    expect(withheld).toEqual(passthrough.slice(1));
  });

  it('forwards a credential that is meant', () => {
    const wishes = { ...nothing, forward: ['GH_TOKEN'], passthrough: ['GH_TOKEN'] };
    expect(sandboxEnvironment(wishes, { GH_TOKEN: 'value' })).toEqual({ env: { GH_TOKEN: 'value' }, withheld: [] });
  });

  it('never forwards a blank value, and a forwarded value beats a fixed one', () => {
    const wishes = { forward: ['A', 'B', 'C'], passthrough: [], fixed: { A: 'fixed', C: 'fixed' } };
    expect(sandboxEnvironment(wishes, { A: 'mine', B: '  ' }).env).toEqual({ A: 'mine', C: 'fixed' });
  });
});
