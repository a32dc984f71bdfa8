import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';
import { describeWorld } from './world.ts';

describeWorld((world) => {
  const scratch = mkdtempSync(join(tmpdir(), 'hermetic-in-world-'));
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  async function onGateway(command: string): Promise<string> {
    const [program = '', ...args] = world().command;
    const authority = join(world().directory, 'ca.pem');
    const env = { PATH: process.env.PATH, HOME: scratch, AUTHORITY: authority };
    const child = spawn(program, [...args, 'bash', '-ec', command], { cwd: scratch, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(child.exitCode, output + errors).toBe(0);
    return output;
  }

  it('serves every name over HTTP and HTTPS, and records questions, connections and requests', async () => {
    await world().arrivals();
    const output = await onGateway('curl -sS http://one.test/; curl -sS --cacert "$AUTHORITY" https://two.test/ https://two.test:8443/');
    expect(output).toBe('hello from one.test\nhello from two.test\nhello from two.test:8443\n');
    const arrivals = await world().arrivals();
    expect(arrivals).toContainEqual({ kind: 'question', name: 'one.test', type: 'A' });
    expect(arrivals).toContainEqual({ kind: 'connection', port: 443, address: '203.0.113.10' });
    expect(arrivals).toContainEqual({ kind: 'tls-name', port: 8443, name: 'two.test' });
    expect(arrivals).toContainEqual(expect.objectContaining({ kind: 'request', port: 80, host: 'one.test', method: 'GET', url: '/' }));
    expect(await world().arrivals()).toEqual([]);
  });

  it('answers at every address, of either family, so that no connection stays unseen', async () => {
    await world().arrivals();
    for (const address of ['198.41.0.4', '169.254.169.254', '10.1.2.3', '[2001:db8::5]']) await onGateway(`curl -sS http://${address}/`);
    const connections = (await world().arrivals()).filter(({ kind }) => kind === 'connection');
    expect(connections.map((arrival) => 'address' in arrival && arrival.address)).toEqual([
      ...['198.41.0.4', '169.254.169.254', '10.1.2.3', '2001:db8::5'],
    ]);
    const before = await world().packets();
    await onGateway('echo data >/dev/udp/192.0.2.1/9999');
    expect(await world().packets()).toBeGreaterThan(before);
  });

  it('answers look-ups of a name as the test says, one after the other', async () => {
    await world().answerName('moves.test', { addresses: ['192.0.2.1', '192.0.2.2'] }, { through: ['far.test'], addresses: ['192.0.2.3'] });
    await world().answerName('missing.test', { addresses: [] });
    const look = 'getent ahostsv4 moves.test | cut -d" " -f1 | sort -u;';
    expect(await onGateway(`${look} ${look} ${look} ! getent hosts missing.test`)).toBe('192.0.2.1\n192.0.2.2\n192.0.2.3\n192.0.2.3\n');
  });

  it('echoes requests, streams, and ports without a protocol', async () => {
    const site = 'curl -sS http://echo.test';
    expect(JSON.parse(await onGateway(`${site}/echo -H "X-Test: yes" -d body`))).toMatchObject({
      ...{ method: 'POST', body: 'body', headers: { 'x-test': 'yes' } },
    });
    expect(await onGateway(`${site}/megabytes/3 | wc -c; head -c 100000 /dev/zero | ${site}/upload -T -`)).toBe('3145728\n100000 bytes\n');
    expect(await onGateway(`${site}/events; ${site}/chunked; ${site}/redirect?to=/x -L`)).toBe(
      'data: event 1\n\ndata: event 2\n\ndata: event 3\n\none\ntwo\nthree\nhello from echo.test\n',
    );
    expect(await onGateway('exec 3<>/dev/tcp/db.test/5432; echo SELECT >&3; head -n 1 <&3')).toBe('SELECT\n');
  });

  it('serves a git repository, an npm package and a Python package', async () => {
    await onGateway('git -c http.sslCAInfo="$AUTHORITY" clone -q https://github.com/team/project.git; grep works project/readme');
    const ssh = 'ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null';
    await onGateway(`GIT_SSH_COMMAND="${ssh}" git clone -q ssh://git@github.com/team/project.git by-ssh; grep works by-ssh/readme`);
    await onGateway('npm install --no-audit --no-fund --cafile "$AUTHORITY" tiny-npm');
    expect(existsSync(join(scratch, 'node_modules/tiny-npm/index.js'))).toBe(true);
    await onGateway('python3 -m pip --cert "$AUTHORITY" --disable-pip-version-check -q install --target . tiny-pip');
    expect(existsSync(join(scratch, 'tiny_pip.py'))).toBe(true);
  });

  it('serves a Debian archive', async () => {
    const archive = 'http://deb.debian.org/debian';
    const packages = await onGateway(`curl -sSf ${archive}/dists/tests/main/binary-$(dpkg --print-architecture)/Packages`);
    expect(packages).toContain('Filename: pool/tiny-deb.deb');
    await onGateway(`curl -sSf ${archive}/pool/tiny-deb.deb -o tiny.deb; dpkg-deb --contents tiny.deb | grep opt/tiny-deb`);
  });

  it('notes what arrives at the baits of its gateway', async () => {
    await world().baitArrivals();
    await onGateway('echo knock >/dev/udp/127.0.0.1/7070; exec 3<>/dev/tcp/203.0.113.1/8080; echo hello >&3; head -n 1 <&3');
    const arrivals = await world().baitArrivals();
    expect(arrivals).toContainEqual({ kind: 'datagram', port: 7070, text: 'knock\n' });
    expect(arrivals).toContainEqual({ kind: 'connection', port: 8080, address: '203.0.113.1' });
  });
});
