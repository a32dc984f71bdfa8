import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';

const clone = join(import.meta.dirname, '../..');
const profile = join(clone, 'deploy/container/seccomp.json');
const run = promisify(execFile);

/** bubblewrap of this machine, with the library that the image lacks. */
function bubblewrapMounts(): string[] {
  const bwrap = execFileSync('which', ['bwrap'], { encoding: 'utf8' }).trim();
  const libraries = execFileSync('ldd', [bwrap], { encoding: 'utf8' }).matchAll(/=> (\S*libcap\S*) /g);
  return [bwrap, ...[...libraries].map(([, path = '']) => path)].flatMap((path) => ['-v', `${path}:${path}:ro`]);
}

await describeBackend('docker', ({ context }) => {
  /** In a container of the engine, with nothing but Node, bubblewrap and the clone. */
  async function inside(options: readonly string[], script: string): Promise<string> {
    const words = ['run', '--rm', '--network', 'none', '-v', `${clone}:${clone}:ro`, ...bubblewrapMounts(), ...options];
    const variables = { HOME: '/tmp/home', PATH: '/usr/bin:/bin', HERMETIC_HOME: '/tmp/home/.hermetic', HERMETIC_WEB_PORT: '0' };
    const environment = Object.entries(variables).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
    const hermetic = `hermetic() { ${join(clone, 'node_modules/node/bin/node')} ${join(clone, 'bin/hermetic.mjs')} "$@"; }; mkdir -p /tmp/home;`;
    const { stdout } = await run('docker', [
      ...words,
      ...environment,
      context.docker.image,
      'bash',
      '-c',
      `${hermetic} { ${script}; } 2>&1`,
    ]);
    return stdout;
  }
  const started = `
    hermetic start > /tmp/started & gateway=$!
    until grep -q '^Open ' /tmp/started; do kill -0 $gateway || { cat /tmp/started; exit 1; }; sleep 0.1; done
    hermetic status --ready; echo "ready: $?"; kill $gateway; wait $gateway; exit 0`;
  const all =
    /docker run --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges .*seccomp\.json --security-opt systempaths=unconfined/;

  it.each([
    ['root', []],
    ['an ordinary user', ['--user', '1000']],
    ['root that may mount', ['--cap-add', 'SYS_ADMIN']],
  ])('starts in a plain container as %s, and names the options that let commands run', async (_, options) => {
    const said = await inside(options, started);
    expect(said).toMatch(/^not ready\nNothing can be run: .*bubblewrap: /m);
    expect(said).toMatch(all);
    expect(said).toContain('ready: 1');
    expect(said).not.toMatch(/apt-get install bubblewrap|cap-add/);
  });

  it('runs commands in a container with those options, without a capability', async () => {
    const options = ['--user', '1000:1000', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
    const security = ['--security-opt', `seccomp=${profile}`, '--security-opt', 'systempaths=unconfined'];
    const switchFile = '/sys/module/apparmor/parameters/enabled';
    if (existsSync(switchFile) && readFileSync(switchFile, 'utf8').startsWith('Y')) security.push('--security-opt', 'apparmor=unconfined');
    const said = await inside([...options, ...security], `hermetic run -- 'id -u; grep CapEff /proc/self/status'; ${started}`);
    expect(said).toMatch(/^1000\nCapEff:\t0{16}$/m);
    expect(said).toContain('ready\nready: 0');
  });

  it('objects to the socket of an engine in a container', async () => {
    const socket = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace(/^unix:\/\//, '');
    const said = await inside(['-v', `${socket}:/var/run/docker.sock`], 'hermetic doctor || true');
    expect(said).toMatch(/^WARNING: \/(var\/)?run\/docker\.sock, the socket of a container engine, is mounted into this container/m);
    expect(await inside([], 'hermetic doctor || true')).not.toContain('the socket of a container engine');
  });
});
