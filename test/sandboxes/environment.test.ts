import { describe, expect, it } from 'vitest';
import { sandboxEnvironment } from '../../src/sandboxes/environment.ts';

const nothing = { forward: [], passthrough: [], fixed: {} };

describe('the environment of a sandbox', () => {
  it('passes only variables that were named', () => {
    expect(sandboxEnvironment(nothing, { HOME: '/root', OPENAI_API_KEY: 'secret' }).env).toEqual({});
  });

  it('passes plain variables and withholds those that look like credentials', () => {
    const passthrough = ['EDITOR', 'OPENAI_API_KEY', 'GH_TOKEN', 'DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY'];
    const values = Object.fromEntries(passthrough.map((name) => [name, 'value']));
    const { env, withheld } = sandboxEnvironment({ ...nothing, passthrough }, values);
    expect(env).toEqual({ EDITOR: 'value' });
    expect(withheld).toEqual(passthrough.slice(1));
  });

  it('forwards a credential that the configuration names', () => {
    const wishes = { ...nothing, forward: ['GH_TOKEN'], passthrough: ['GH_TOKEN'] };
    expect(sandboxEnvironment(wishes, { GH_TOKEN: 'value' })).toEqual({ env: { GH_TOKEN: 'value' }, withheld: [] });
  });

  it('skips a blank value, and prefers a forwarded value to a fixed one', () => {
    const wishes = { forward: ['A', 'B', 'C'], passthrough: [], fixed: { A: 'fixed', C: 'fixed' } };
    expect(sandboxEnvironment(wishes, { A: 'mine', B: '  ' }).env).toEqual({ A: 'mine', C: 'fixed' });
  });
});
