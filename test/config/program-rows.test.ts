import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';

const flaws = (programs: unknown): string => {
  const parsed = configSchema.safeParse({ approvals: { programs } });
  return parsed.success ? '' : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n');
};

describe('approvals.programs', () => {
  it('accepts rows of the program tables', () => {
    const rows = {
      mytool: { options: '-v --verbose --format:text --output:write -i:text? --force!git/discard', operands: 'read* write' },
      deployer: { optionsFirst: true, subcommands: { status: { options: '--json' }, 'plan|diff': { operands: 'read?' } } },
    };
    expect(configSchema.parse({ approvals: { programs: rows } }).approvals.programs).toEqual(rows);
  });

  it.each([
    [{ mytool: { options: '--output:wrote' } }, /approvals\.programs\.mytool\.options: --output:wrote: there is no kind "wrote"/],
    [{ mytool: { options: 'output' } }, /output is no option/],
    [{ mytool: { options: '-f!git/nothing' } }, /there is no rule "git\/nothing"/],
    [{ mytool: { operands: 'reads*' } }, /there is no kind "reads"/],
    [{ mytool: { subcommands: { run: { operands: 'what ever' } } } }, /mytool\.subcommands\.run\.operands: what: there is no kind/],
    [{ mytool: { anything: true } }, /mytool/],
    [{ 'my tool': {} }, /my tool/],
    [{ mytool: 'all' }, /mytool/],
  ])('names the mistake in the program rows %j', (rows, message) => {
    expect(flaws(rows)).toMatch(message);
  });
});
