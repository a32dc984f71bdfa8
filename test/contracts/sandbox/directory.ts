import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { collect, useRig } from './rig.ts';

export function directoryContract(engine: TestEngine): void {
  const rig = useRig(engine);
  const home = (): Promise<string> => rig.output('cd "$1"', { args: [rig.workdir] });

  it.each([{}, { workdir: '/tmp', env: { HOME: '/usr' } }])(
    'starts in the home and workdir that the backend declares: %j',
    async (wishes) => {
      const spec = engine.spec(wishes);
      const sandbox = await engine.open(spec);
      const { stdout } = await collect(await sandbox.exec({ command: 'printf "%s %s %s" ~ "$HOME" "$PWD"' }));
      const { home: own, workdir } = engine.backend.places(spec);
      expect(stdout).toBe(`${own} ${own} ${workdir}`);
      await sandbox.destroy();
    },
  );

  it('runs each command in the directory where the last one ended', async () => {
    await rig.run('mkdir -p deep/er && cd deep/er');
    expect(rig.sandbox.cwd).toBe(`${rig.workdir}/deep/er`);
    expect(await rig.output('pwd; cd ..')).toBe(`${rig.workdir}/deep/er\n`);
    expect(await rig.output('pwd')).toBe(`${rig.workdir}/deep\n`);
    await home();
  });

  it('remembers the previous directory for `cd -`', async () => {
    await rig.run('cd /usr; cd /tmp');
    expect(await rig.output('cd -; echo "$OLDPWD"')).toBe('/usr\n/tmp\n');
    await home();
  });

  it('keeps the name of a link as the working directory, not its target', async () => {
    await rig.run('mkdir -p real; ln -sfn real link; cd link');
    expect(await rig.output('pwd; pwd -P')).toBe(`${rig.workdir}/link\n${rig.workdir}/real\n`);
    await home();
  });

  it.each(['with blank', "it's", 'a"b$c`d', 'line\nbreak', '-dash', 'trailing newline\n', 'ünï 日本', '*', '~', '\\'])(
    'works in a directory called %j',
    async (name) => {
      await rig.output('mkdir -p -- "./$1"; cd -- "./$1"', { args: [name] });
      expect(rig.sandbox.cwd).toBe(`${rig.workdir}/${name}`);
      expect(await rig.output('printf %s "$PWD"')).toBe(`${rig.workdir}/${name}`);
      await home();
      expect(await rig.output('printf %s "$PWD"', { cwd: name })).toBe(`${rig.workdir}/${name}`);
    },
  );

  it('works in a directory whose name is not UTF-8', async () => {
    await rig.output(`mkdir $'bad\\xff'; cd $'bad\\xff'`);
    expect((await rig.run('printf %s "${PWD##*/}"')).bytes).toEqual(Buffer.from('bad\xff', 'latin1'));
    await home();
  });

  it('uses another directory for one command only', async () => {
    await rig.output('mkdir -p once');
    expect(await rig.output('pwd; cd /; export FROM_ONCE=1', { cwd: 'once' })).toBe(`${rig.workdir}/once\n`);
    expect(await rig.output('pwd', { cwd: '/usr' })).toBe('/usr\n');
    expect(await rig.output('pwd; echo $FROM_ONCE')).toBe(`${rig.workdir}\n1\n`);
    await rig.output('cd /usr; cd "$1"', { args: [rig.workdir] });
    await rig.output('cd /tmp', { cwd: '/' });
    expect(await rig.output('cd -')).toBe('/usr\n');
    await home();
  });

  it('resolves the directory of one command without CDPATH and OLDPWD', async () => {
    await rig.output('mkdir -p elsewhere/target; export CDPATH=$PWD/elsewhere; cd /usr; cd "$OLDPWD"');
    expect(await rig.run('pwd', { cwd: 'target' })).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 126 } });
    expect(await rig.run('pwd', { cwd: '-' })).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 126 } });
    await rig.output('unset CDPATH');
  });

  it.each(['/nonexistent/place', 'nowhere', '/etc/passwd', '$HOME', '/etc; touch injected'])(
    'ends a command with 126 before it starts when its directory is missing: %j',
    async (cwd) => {
      const { stdout, stderr, exit } = await rig.run('touch started; echo started', { cwd });
      expect(exit).toEqual({ kind: 'exited', code: 126 });
      expect(stdout).toBe('');
      expect(stderr).toContain(`no such directory: ${cwd}\n`);
      expect(await rig.output('ls -d started injected 2>/dev/null || pwd')).toBe(`${rig.workdir}\n`);
    },
  );

  it('moves to the nearest remaining parent, with one notice, when the working directory was deleted', async () => {
    await rig.output('mkdir -p one/two/three; cd one/two/three');
    await rig.output('rm -r "$1/one/two"', { args: [rig.workdir], cwd: '/' });
    const first = await rig.run('pwd');
    expect(first.stdout).toBe(`${rig.workdir}/one\n`);
    expect(first.stderr).toBe(`hermetic: ${rig.workdir}/one/two/three no longer exists; continuing in ${rig.workdir}/one\n`);
    // Said once: from then on the session is where it is.
    expect(await rig.run('pwd')).toMatchObject({ stdout: `${rig.workdir}/one\n`, stderr: '' });
    await home();
  });

  it('survives a command that deletes its own working directory', async () => {
    await rig.output('mkdir doomed; cd doomed; rmdir ../doomed; export SURVIVED=1');
    expect(await rig.output('pwd; echo $SURVIVED')).toBe(`${rig.workdir}\n1\n`);
    await home();
  });

  it('starts a session in the nearest parent when its workdir does not exist', async () => {
    const sandbox = await engine.open(engine.spec({ workdir: '/usr/not/there' }));
    const handle = await sandbox.exec({ command: 'pwd' });
    const chunks: string[] = [];
    for await (const { data } of handle.output) chunks.push(data.toString());
    expect(chunks.join('')).toContain('/usr\n');
    await sandbox.destroy();
  });
}
