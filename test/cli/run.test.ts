import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { withEnoughTime } from '../until.ts';
import { Hermetic } from './hermetic.ts';

await describeBackend('bubblewrap', (engine) => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
  const { home } = hermetic;
  afterAll(() => rm(home, { recursive: true, force: true }));

  it("prints the command's output and returns its exit code", async () => {
    const outcome = await hermetic.run(['run', '--', 'echo out; echo err >&2; exit 3']);
    expect(outcome).toMatchObject({ code: 3, stdout: 'out\n' });
    expect(outcome.stderr).toMatch(/err\n$/);
  });

  it('state and files of a session carry over between invocations, and stay out of other sessions', async () => {
    await hermetic.run([
      'run',
      '--session',
      'a',
      '--',
      'export COLOUR=blue; mkdir -p deep; cd deep; say() { echo "said $1"; }; touch mine',
    ]);
    expect((await hermetic.run(['run', '--session', 'a', '--', 'echo $COLOUR; pwd; say hi; ls'])).stdout).toBe(
      'blue\n/workspace/deep\nsaid hi\nmine\n',
    );
    expect((await hermetic.run(['run', '--session', 'b', '--', 'echo "[$COLOUR]"; ls -A'])).stdout).toBe('[]\n');
  });

  it('accepts a session with a hostile name', async () => {
    const name = '../../evil\n; rm -rf / #';
    expect(await hermetic.run(['run', '--session', name, '--', 'touch here; ls'])).toMatchObject({ code: 0, stdout: 'here\n' });
    expect((await hermetic.run(['run', '--session', name, '--', 'ls'])).stdout).toBe('here\n');
    const names = readdirSync(join(home, '.hermetic', 'sandboxes', 'bubblewrap'));
    expect(names.every((one) => /^[0-9a-f]{24}$/.test(one))).toBe(true);
    expect((await hermetic.run(['sandbox', 'list'])).stdout).not.toMatch(/evil\n/);
  });

  it('passes several words exactly as a program and its arguments', async () => {
    expect((await hermetic.run(['run', '--', 'printf', '<%s>', 'a b', '$HOME', "it's", ''])).stdout).toBe("<a b><$HOME><it's><>");
  });

  it('passes standard input on, and does not delay a command that reads none', async () => {
    expect((await hermetic.run(['run', '--', 'wc -c'], { input: 'x'.repeat(200_000) })).stdout.trim()).toBe('200000');
    const child = hermetic.start(['run', '--', 'echo done']);
    child.stdout?.resume();
    child.stderr?.resume();
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('says nothing of its own to a reader that is slow', async () => {
    const child = hermetic.start(['run', '--', 'head -c 5000000 /dev/zero']);
    let [bytes, remarks] = [0, ''];
    child.stderr?.on('data', (data: Buffer) => {
      remarks += data.toString();
    });
    child.stdout?.on('data', (data: Buffer) => {
      bytes += data.length;
      child.stdout?.pause();
      setTimeout(() => child.stdout?.resume(), 2);
    });
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(bytes).toBe(5_000_000);
    expect(remarks).not.toContain('Warning');
  });

  it('applies a directory and variables to one command only', async () => {
    const outcome = await hermetic.run(['run', '--cwd', '/usr', '--env', 'A=1', '--env', 'B=x=y', '--', 'pwd; echo $A $B']);
    expect(outcome.stdout).toBe('/usr\n1 x=y\n');
    expect((await hermetic.run(['run', '--', 'echo "[$A]"; pwd'])).stdout).toBe('[]\n/workspace\n');
    expect(await hermetic.run(['run', '--cwd', '/nowhere', '--', 'true'])).toMatchObject({ code: 126 });
  });

  it('a timeout ends the command with 124 and keeps its output', async () => {
    const outcome = await withEnoughTime(
      (seconds) => hermetic.run(['run', '--session', 'timed', '--timeout', String(seconds), '--', 'echo part; : >begun; sleep 60']),
      async () => (await hermetic.run(['run', '--session', 'timed', '--', 'rm begun'])).code === 0,
    );
    expect(outcome).toMatchObject({ code: 124, stdout: 'part\n' });
  });

  it('an interrupt ends the command, and hermetic run exits with 130', async () => {
    const child = hermetic.start(['run', '--', 'trap "echo cleaned; exit 1" TERM; echo ready; while :; do sleep 0.05; done']);
    let text = '';
    child.stderr?.resume();
    child.stdout?.on('data', (data: Buffer) => {
      if (text === '') child.kill('SIGINT');
      text += data.toString();
    });
    expect(await once(child, 'close')).toEqual([130, null]);
    expect(text).toBe('ready\ncleaned\n');
  });

  it('ends the command when its reader goes away', async () => {
    const child = hermetic.start(['run', '--', 'yes']);
    child.stderr?.resume();
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await once(child, 'close')).toEqual([141, null]);
  });

  it('a shell with piped input runs the lines and exits with the last code', async () => {
    const outcome = await hermetic.run(['shell', '--session', 'lines'], { input: 'cd /usr\nexport SEEN=1\npwd\n(exit 7)\n' });
    expect(outcome).toMatchObject({ code: 7, stdout: '/usr\n' });
    expect((await hermetic.run(['run', '--session', 'lines', '--', 'pwd; echo $SEEN'])).stdout).toBe('/usr\n1\n');
  });

  it.each([
    ['kubernetes', /No Kubernetes cluster is configured/],
    ['modal', /MODAL_TOKEN_ID/],
    ['daytona', /DAYTONA_API_KEY/],
    ['vercel', /VERCEL_TOKEN/],
  ])('refuses a command on %s, which is not configured, with the remedy, and still lists sandboxes', async (backend, remedy) => {
    const refused = await hermetic.run(['run', '--backend', backend, '--', 'true']);
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringMatching(remedy) });
    expect(await hermetic.run(['sandbox', 'list'])).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [['run', '--backend', 'docer', '--', 'true'], 2, /no backend "docer"; did you mean docker\?[\s\S]*bubblewrap/],
    [['run', '--timeout', '0', '--', 'true'], 2, /greater than 0/],
    [['run', '--timeout', '601', '--', 'true'], 2, /max_foreground_timeout/],
    [['run', '--env', 'A', '--', 'true'], 2, /NAME=value/],
    [['run', '--image', 'debian', '--', 'true'], 2, /has no image/],
    [['run'], 2, /missing required argument/],
    [['walk'], 2, /unknown command/],
    [['sandbox', 'show', 'nobody'], 1, /no sandbox/],
  ])('refuses %j', async (args, code, message) => {
    const outcome = await hermetic.run(args);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr).not.toMatch(/\n {4}at /);
  });

  it.each([
    ['a wish the backend cannot honour', { TERMINAL_ENV: 'local', TERMINAL_NETWORK: 'restricted' }, /which has its network/],
    ['a wrong value in the environment', { TERMINAL_TIMEOUT: 'soon' }, /TERMINAL_TIMEOUT/],
  ])('%s stops hermetic run before anything runs', async (_, environment, message) => {
    const outcome = await hermetic.run(['run', '--session', 'unwanted', '--', 'true'], { environment });
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(message);
    expect((await hermetic.run(['sandbox', 'list'])).stdout).not.toContain('unwanted');
  });

  it('an unknown configuration key stops every command, with file, line and the nearest key', async () => {
    const broken = new Hermetic();
    mkdirSync(join(broken.home, '.hermetic'), { mode: 0o700 });
    writeFileSync(join(broken.home, '.hermetic', 'config.yaml'), 'terminal:\n  bakend: docker\n');
    const outcome = await broken.run(['run', '--', 'true']);
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(/config\.yaml:2.*terminal\.bakend[\s\S]*terminal\.backend/);
    expect(existsSync(join(broken.home, '.hermetic', 'sandboxes'))).toBe(false);
    await rm(broken.home, { recursive: true });
  });

  it('auto says why it does not use docker', async () => {
    const environment = { TERMINAL_ENV: 'auto', DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    const outcome = await hermetic.run(['run', '--', 'id -un'], { environment });
    expect(outcome).toMatchObject({ code: 0, stdout: 'agent\n' });
    expect(outcome.stderr).toMatch(/\/nowhere\/docker\.sock.*\. This session runs on bubblewrap instead\./);
    const fresh = await hermetic.run(['run', '--session', 'unproven', '--', 'true'], {
      environment: { ...environment, TERMINAL_CONTAINER_PIDS: '100' },
    });
    expect(fresh.stderr).toMatch(/bubblewrap instead[\s\S]*proving/);
  });

  it('sandboxes are listed, shown and destroyed', async () => {
    await hermetic.run(['run', '--session', 'gone', '--', 'head -c 100000 /dev/urandom > data']);
    const list = JSON.parse((await hermetic.run(['sandbox', 'list', '--json'])).stdout) as Record<string, unknown>[];
    const listed = list.find(({ session }) => session === 'gone');
    expect(listed).toMatchObject({ isSpare: false, idleSeconds: expect.any(Number), leaseUntil: null, proof: { held: true } });
    expect(listed?.diskBytes).toBeGreaterThan(100_000);
    const directory = String(listed?.directory);
    expect(existsSync(directory)).toBe(true);
    const shown = JSON.parse((await hermetic.run(['sandbox', 'show', 'gone', '--json'])).stdout) as Record<string, unknown>;
    expect(shown).toMatchObject({ session: 'gone', backend: 'bubblewrap', state: 'stopped' });
    expect(shown.diskBytes).toBeGreaterThan(100_000);
    const words = (await hermetic.run(['sandbox', 'show', 'gone'])).stdout;
    expect(words).toMatch(/^session +gone\nbackend +bubblewrap, stopped\n/);
    expect(words).toMatch(/\ncontainment +held when it was tried at \d/);
    expect(words).toMatch(/\nfiles +0\.1 MB in \//);
    expect(words).not.toMatch(/[{}]|^[a-z]+[A-Z]/m);
    expect(await hermetic.run(['sandbox', 'destroy', 'gone'])).toMatchObject({ code: 0 });
    expect(existsSync(directory)).toBe(false);
  });

  it('a session with a very long name keeps its list entry short', async () => {
    const name = `long${'g'.repeat(5000)}`;
    await hermetic.run(['run', '--session', name, '--', 'true']);
    const lines = (await hermetic.run(['sandbox', 'list'])).stdout.split('\n');
    expect(lines.some((line) => line.startsWith('longggg'))).toBe(true);
    for (const line of lines) expect(line.length).toBeLessThan(200);
    expect(await hermetic.run(['sandbox', 'destroy', name])).toMatchObject({ code: 0 });
  });

  it('prune removes sessions older than --older-than, and none without it', async () => {
    const apart = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
    await apart.run(['run', '--', 'echo content > file']);
    expect((await apart.run(['sandbox', 'prune'])).stdout).toMatch(/^0 were removed/);
    expect((await apart.run(['sandbox', 'prune', '--older-than', '1h'])).stdout).toMatch(/^0 were removed/);
    expect((await apart.run(['sandbox', 'prune', '--older-than', '0d', '--dry-run'])).stdout).toMatch(/1 would be removed/);
    expect((await apart.run(['sandbox', 'prune', '--older-than', '0d'])).stdout).toMatch(/1 were removed/);
    expect((await apart.run(['sandbox', 'list'])).stdout).toBe('There are no sandboxes.\n');
    await rm(apart.home, { recursive: true });
  });

  it('prune lists files whose session the state database does not know, and removes them when it is told to', async () => {
    const apart = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
    await apart.run(['run', '--', 'echo content > file']);
    await rm(join(apart.home, '.hermetic', 'state.db'));
    const { stdout } = await apart.run(['sandbox', 'prune', '--older-than', '0d']);
    expect(stdout).toMatch(/^0 were removed/);
    expect(stdout).toMatch(/default +bubblewrap +\S+ +has files, and its session is not known\n.*removed with --unknown/);
    expect(await apart.run(['run', '--', 'cat file'])).toMatchObject({ stdout: 'content\n' });
    await rm(join(apart.home, '.hermetic', 'state.db'));
    expect((await apart.run(['sandbox', 'prune', '--unknown', '--dry-run'])).stdout).toMatch(/1 would be removed/);
    expect((await apart.run(['sandbox', 'prune', '--unknown'])).stdout).toMatch(/1 were removed/);
    expect((await apart.run(['sandbox', 'list'])).stdout).toBe('There are no sandboxes.\n');
    await rm(apart.home, { recursive: true });
  });

  it('status and doctor report backend, isolation and limits, in words and as JSON', async () => {
    const status = JSON.parse((await hermetic.run(['status', '--json'])).stdout) as { backend: unknown };
    expect(status.backend).toMatchObject({ configured: 'bubblewrap', used: 'bubblewrap', isolation: 'process' });
    expect((await hermetic.run(['status'])).stdout).toMatch(/isolation process/);
    expect((await hermetic.run(['status'])).stdout).toMatch(/proven to contain at/);
    const unsafe = await hermetic.run(['status'], { environment: { HERMETIC_GATEWAY_TERMINAL_BACKEND: 'local' } });
    expect(unsafe.stdout).toMatch(/command line.*\n(?: .*\n)* +The disk limit is only watched: bubblewrap/);
    expect(unsafe.stdout).toMatch(/messaging.*\n(?: .*\n)* +The disk limit is not enforced: local/);
    expect(unsafe.stdout).toMatch(/WITHOUT A SANDBOX[\s\S]*gateway.terminal_backend bubblewrap/);
    const doctor = await hermetic.run(['doctor', '--json'], { environment: { DOCKER_HOST: 'unix:///nowhere/docker.sock' } });
    expect(doctor.code).toBe(0);
    expect(JSON.parse(doctor.stdout)).toMatchObject({
      backend: { used: 'bubblewrap' },
      backends: { bubblewrap: { usable: true }, docker: { usable: false, code: expect.stringMatching(/^backend\//) } },
    });
    const unusable = await hermetic.run(['doctor'], {
      environment: { TERMINAL_ENV: 'docker', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
    });
    expect(unusable.code).toBe(3);
    expect(unusable.stdout).toMatch(/docker: not usable\n {2}why: .*\n {2}fix: /);
  });

  it('doctor goes on when a working backend cannot be proven, and says so', async () => {
    const without = { DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    // The host has its network, whatever is wished.
    const words = await hermetic.run(['doctor', '--prove'], { environment: { ...without, TERMINAL_NETWORK: 'none' } });
    expect(words.stdout).toMatch(/\nbubblewrap:\n.*held/s);
    expect(words.stdout).toMatch(/\nlocal: could not be tried: .*which has its network/);
    expect(words.code).toBe(0);
    // Nobody knows whether a backend contains that could not be tried.
    const unmountable = { ...without, TERMINAL_DOCKER_VOLUMES: JSON.stringify(['/no/such/place:/data']) };
    const data = await hermetic.run(['doctor', '--prove', '--json'], { environment: unmountable });
    expect(JSON.parse(data.stdout)).toMatchObject({ proofs: { bubblewrap: { held: null, reason: expect.stringMatching(/such/) } } });
    expect(data.code).toBe(1);
  });

  it('doctor proves the network of chat sessions apart where it is another one', async (context) => {
    const answer = await engine.backend.canRestrict();
    if (answer !== true) return context.skip(answer);
    const prove = async (environment: Record<string, string>) => {
      const outcome = await hermetic.run(['doctor', '--prove', '--json'], {
        environment: { DOCKER_HOST: 'unix:///nowhere/docker.sock', ...environment },
      });
      expect(outcome.code).toBe(0);
      return JSON.parse(outcome.stdout) as Record<'proofs' | 'chatProofs', Record<string, { held: boolean; lines: { check: string }[] }>>;
    };
    const triesProxy = (proof: { lines: { check: string }[] } | undefined) => proof?.lines.some(({ check }) => check === 'proxy-host');
    const { proofs, chatProofs } = await prove({});
    expect([triesProxy(proofs.bubblewrap), triesProxy(chatProofs.bubblewrap)]).toEqual([false, true]);
    expect(Object.keys(chatProofs)).toEqual(['bubblewrap']);
    const same = await prove({ TERMINAL_NETWORK: 'restricted' });
    expect([triesProxy(same.proofs.bubblewrap), same.chatProofs]).toEqual([true, {}]);
    const bound = await prove({ HERMETIC_SECRETS: '{"TOKEN":{"hosts":["api.example"]}}', TOKEN: 'a-value-that-stays-outside' });
    expect(bound.chatProofs.bubblewrap?.lines).toContainEqual(expect.objectContaining({ check: 'secret-values', verdict: 'held' }));
    expect(JSON.stringify(bound)).not.toContain('a-value-that-stays-outside');
  });

  it('run and code name the connections that a restricted network blocked', async (context) => {
    const answer = await engine.backend.canRestrict();
    if (answer !== true) return context.skip(answer);
    const environment = { TERMINAL_NETWORK: 'restricted' };
    const script = 'exec 3<>/dev/tcp/evil.example/443; cat <&3; echo printed';
    const ran = await hermetic.run(['run', '--', script], { environment });
    expect(ran).toMatchObject({ code: 0, stdout: 'printed\n' });
    expect(ran.stderr).toMatch(/\nhermetic: Network: blocked evil\.example:443 \(not in network\.allow\)\.\n$/);
    const coded = await hermetic.run(['code', '--language', 'bash', '-'], { environment, input: script });
    expect(coded.code).toBe(0);
    expect(coded.stderr).toMatch(/hermetic: Network: blocked evil\.example:443 \(not in network\.allow\)\.\n$/);
    expect((await hermetic.run(['run', '--', 'true'], { environment })).stderr).not.toContain('Network');
  });

  it('status does not wait long for an engine that accepts connections and never answers', async () => {
    const socket = join(home, 'silent.sock');
    const opened: number[] = [];
    const closed: number[] = [];
    const silent = createServer((connection) => {
      opened.push(performance.now());
      connection.resume().on('close', () => closed.push(performance.now()));
    }).listen(socket);
    await once(silent, 'listening');
    const outcome = await hermetic.run(['status'], { environment: { TERMINAL_ENV: 'auto', DOCKER_HOST: `unix://${socket}` } });
    // Everything that has to wait for it waits at the same time.
    expect(Math.max(...opened)).toBeLessThan(Math.min(...closed));
    expect(outcome.stdout).toMatch(/not docker: .*silent\.sock did not answer within 5 s/);
    silent.close();
  });

  it('--backend local runs on the host and warns that it has no isolation', async () => {
    const outcome = await hermetic.run(['run', '--backend', 'local', '--', 'echo here']);
    expect(outcome).toMatchObject({ code: 0, stdout: 'here\n' });
    expect(outcome.stderr).toMatch(/The disk limit is not enforced/);
    expect(outcome.stderr).not.toMatch(/watched/);
    expect(outcome.stderr).toMatch(/warning: local has no isolation/);
  });
});
