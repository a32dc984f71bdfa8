import { describe, expect, it } from 'vitest';
import type { EngineAddress } from '../../../src/backends/engine/address.ts';
import type { EngineInfo } from '../../../src/backends/engine/engine.ts';
import { type Here, sharesKernel } from '../../../src/backends/engine/transport.ts';

const here: Here = { platform: 'linux', kernel: '6.1.0' };
const socket: EngineAddress = { kind: 'unix', path: '/var/run/docker.sock' };
const info = {
  OperatingSystem: 'Debian GNU/Linux 12 (bookworm)',
  KernelVersion: '6.1.0',
  DefaultRuntime: 'runc',
  Runtimes: {
    runc: { path: 'runc' },
    'io.containerd.runc.v2': { path: 'runc' },
    runsc: { path: '/usr/bin/runsc' },
    mine: { path: '/opt/crun' },
  },
} as unknown as EngineInfo;

describe('the kernel of a container', () => {
  it.each<[string, EngineAddress, Partial<EngineInfo>, string | undefined, Here]>([
    ['with an engine on a socket of this Linux', socket, {}, undefined, here],
    ['with a runtime that is one of the usual by another name', socket, {}, 'mine', here],
    ['with the usual one named in full', socket, {}, 'io.containerd.runc.v2', here],
  ])('recognises our kernel %s', (_, address, facts, runtime, machine) => {
    expect(sharesKernel(address, { ...info, ...facts }, runtime, machine)).toBe(true);
  });

  it.each<[string, EngineAddress, Partial<EngineInfo>, string | undefined, Here]>([
    ['with an engine behind a port', { kind: 'tcp', host: '127.0.0.1', port: 2375 }, {}, undefined, here],
    ['with Docker Desktop, whose engine is in a virtual machine', socket, { OperatingSystem: 'Docker Desktop' }, undefined, here],
    ['when this is no Linux', socket, {}, undefined, { platform: 'darwin', kernel: '6.1.0' }],
    ['with the forwarded socket of another machine', socket, { KernelVersion: '5.15.0' }, undefined, here],
    ['with a runtime that brings its own', socket, {}, 'runsc', here],
    ['with an engine that uses such a runtime unasked', socket, { DefaultRuntime: 'runsc' }, undefined, here],
  ])('recognises another kernel %s', (_, address, facts, runtime, machine) => {
    expect(sharesKernel(address, { ...info, ...facts }, runtime, machine)).toBe(false);
  });
});
