import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Hermetic } from './hermetic.ts';

const hermetic = new Hermetic();
const judge = (args: readonly string[], options?: Parameters<Hermetic['run']>[1]) => hermetic.run(['approvals', 'judge', ...args], options);

describe('hermetic approvals judge', () => {
  it('approvals judge prints the verdict in words', async () => {
    const { code, stdout, stderr } = await judge(['git push --force; chmod 777 x']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^ask: .*\n {2}Rewrites or deletes history \(git push: --force\): .* \[git\/rewrite-history\]\n {2}Lets everybody write \(chmod: 777\): /,
    );
    expect((await judge(['ls'])).stdout).toMatch(/^allow: /);
    expect((await judge(['--', 'rm', '-rf', '/'])).stdout).toMatch(/^deny: /);
  });

  it('approvals judge prints JSON', async () => {
    const { stdout } = await judge(['--json', 'git push --force']);
    expect(JSON.parse(stdout)).toEqual({
      verdict: 'ask',
      findings: [{ rule: 'git/rewrite-history', title: expect.any(String), why: expect.any(String) }],
    });
    expect(JSON.parse((await judge(['--json', 'ls'])).stdout)).toEqual({ verdict: 'allow', findings: [] });
  });

  it('approvals judge --stdin judges every line, with its id', async () => {
    const lines = [
      { id: 'a', command: 'ls' },
      { id: 2, command: "cat <<'E' | sh\nrm -rf /\nE" },
      { id: 'c', command: 'curl x | sh' },
    ];
    const { code, stdout } = await judge(['--stdin'], { input: `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n` });
    expect(code).toBe(0);
    const verdicts = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(verdicts.map(({ id, verdict }) => [id, verdict])).toEqual([
      ['a', 'allow'],
      [2, 'deny'],
      ['c', 'ask'],
    ]);
    expect(Object.keys(verdicts[2])).toEqual(['id', 'verdict', 'findings']);
  });

  it.each([
    ['is not JSON', '{"id":1,"command":"ls"}\nnonsense\n', /Line 2 of standard input is not JSON/],
    ['has no command', '{"id":1}\n', /Line 1 .*command/],
    ['has no id', '\n{"command":"ls"}\n', /Line 2 .*id/],
  ])('approvals judge names the line that %s, and exits with 2', async (_what, input, message) => {
    const { code, stderr } = await judge(['--stdin'], { input });
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('approvals judge takes a command or standard input, not both', async () => {
    expect((await judge([])).code).toBe(2);
    expect((await judge(['--stdin', 'ls'])).code).toBe(2);
    expect((await judge(['--backend', 'nowhere', 'ls'])).code).toBe(2);
  });

  it("judges that a disposable sandbox may be ruined, but not the host's files in it", async () => {
    expect((await judge(['--backend', 'bubblewrap', 'rm -rf /'])).stdout).toMatch(/^allow/);
    const environment = { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${hermetic.home}:/data`]) };
    expect((await judge(['--backend', 'docker', 'rm -rf /data/x'], { environment })).stdout).toMatch(/^ask/);
    expect((await judge(['--backend', 'docker', 'rm -rf /'], { environment })).stdout).toMatch(/^deny/);
    expect((await judge(['--backend', 'docker', 'rm -rf /srv/x'], { environment })).stdout).toMatch(/^allow/);
  });

  it("judges Hermetic's own files by where they are", async () => {
    expect((await judge([`echo x > ${hermetic.environment.HERMETIC_HOME}/config.yaml`])).stdout).toMatch(/^deny/);
  });

  it("gives the guard's verdict on a session's own files and those beside them", async () => {
    const workspace = (await hermetic.run(['run', '--backend', 'local', '--', 'pwd'])).stdout.trim();
    const verdicts = [
      [`echo x > ${workspace}/notes`, 'allow'],
      ['rm -rf ./*', 'ask'],
      ['echo x > ../state.json', 'deny'],
    ] as const;
    for (const [command, verdict] of verdicts) {
      expect((await judge([command])).stdout).toMatch(new RegExp(`^${verdict}`));
      const { code, stderr } = await hermetic.run(['run', '--backend', 'local', '--ask', '--', command]);
      expect([command, code, stderr.includes('This is always denied')]).toEqual([command, verdict === 'allow' ? 0 : 4, verdict === 'deny']);
    }
  });

  it("judges programs by the owner's rows, and names a mistake in them", async () => {
    const withRows = (rows: unknown) => ({ environment: { HERMETIC_APPROVALS_PROGRAMS: JSON.stringify(rows) } });
    expect((await judge(['mytool -v'])).stdout).toMatch(/^ask: .*\n {2}Runs a program that is in no table/);
    expect((await judge(['mytool -v'], withRows({ mytool: { options: '-v' } }))).stdout).toMatch(/^allow/);
    expect((await judge(['rm -rf /'], withRows({ rm: { options: '-rf', operands: 'text*' } }))).stdout).toMatch(/^deny/);
    const wrong = await judge(['mytool -v'], withRows({ mytool: { options: '-v:what' } }));
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toMatch(/approvals\.programs[\s\S]*there is no kind "what"/);
  });

  it('approvals judge runs nothing', async () => {
    await judge([`touch ${join(hermetic.home, 'marker')}; $(touch ${join(hermetic.home, 'marker')})`]);
    expect(existsSync(join(hermetic.home, 'marker'))).toBe(false);
  });
});
