import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { findProgram } from '../src/backends/programs.ts';
import { started } from '../src/lib/started.ts';
import { until } from './until.ts';

/**
 * A second Docker engine that knows gVisor, with files, sockets and a network namespace of its own, so that it does not touch the first one. It ends
 * with the tests of the file. Resolves with its address in the form of `DOCKER_HOST`, or with the reason why there is none.
 */
export async function startGvisorEngine(): Promise<{ host: string } | { obstacle: string }> {
  const missing = ['dockerd', 'runsc', 'unshare'].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return { obstacle: `${missing.join(', ')} is not installed` };
  const image = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-gvisor-'));
  const path = (name: string): string => join(directory, name);
  const host = `unix://${path('docker.sock')}`;
  // With a network gVisor wants one of its own in a namespace that is not the first of the machine.
  const runtimes = { runsc: { path: findProgram('runsc'), runtimeArgs: ['--network=none'] } };
  writeFileSync(path('daemon.json'), JSON.stringify({ runtimes }));
  const places = ['--data-root', path('data'), '--exec-root', path('exec'), '--pidfile', path('pid'), '--config-file', path('daemon.json')];
  const args = ['--net', '--', 'dockerd', '--host', host, ...places, '--bridge', 'none', '--iptables=false', '--ip-forward=false'];
  const engine = started(spawn('unshare', args, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH } }));
  let log = '';
  engine.stderr.on('data', (data: Buffer) => {
    log = (log + data.toString()).slice(-4000);
  });
  const ended = once(engine, 'exit');
  const end = async (): Promise<void> => {
    engine.kill('SIGTERM');
    await ended;
    // Its containers are gone by then; the file systems it mounted are not always.
    const mounted = readFileSync('/proc/mounts', 'utf8').split('\n');
    for (const line of mounted.filter((one) => one.includes(directory))) spawnSync('umount', ['-l', line.split(' ')[1] ?? '']);
    rmSync(directory, { recursive: true, force: true });
  };
  const docker = (...words: string[]): number | null => spawnSync('docker', ['--host', host, ...words], { stdio: 'ignore' }).status;
  await until('it answers or has ended', () => engine.exitCode !== null || docker('version') === 0);
  const load = 'set -o pipefail; docker --host unix:///var/run/docker.sock save "$1" | docker --host "$2" load';
  if (engine.exitCode !== null || spawnSync('bash', ['-c', load, 'bash', image, host], { stdio: 'ignore' }).status !== 0) {
    await end();
    return { obstacle: `a second Docker engine with the image ${image} does not start: ${log}` };
  }
  afterAll(end);
  return { host };
}
