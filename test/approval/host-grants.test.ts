import { beforeEach, describe, expect, it } from 'vitest';
import { giveHosts, hostGrants, revokeHosts } from '../../src/approval/host-grants.ts';
import type { ConnectAction } from '../../src/core/approval.ts';
import { session } from './calls.ts';
import { guardRigs, type Rig } from './guard-rig.ts';

const newRig = guardRigs();
let rig: Rig;
beforeEach(async () => {
  rig = await newRig();
});

const connect = (...hosts: string[]): ConnectAction => ({
  kind: 'connect',
  connections: hosts.map((host) => ({ host, port: 443, program: 'curl' })),
  command: 'curl',
  cwd: '/',
});
const give = (host: string, expiresAt?: Date) =>
  giveHosts(rig.store.grants, {
    ...{ destinations: [{ host, port: 443 }], session, backend: 'local', by: 'root', from: 'shell', at: new Date(), expiresAt },
  });
/** Without a person who could be asked, a grant alone can answer. */
const may = async (action: ConnectAction, person?: string) => (await rig.ask([action], { source: 'cli', person })).allowed;

describe('a grant for a host in a session', () => {
  it('answers for everyone there, and for no other host', async () => {
    expect(await may(connect('a.example'), 'telegram:1')).toBe(false);
    await give('a.example');
    for (const person of ['telegram:1', 'web:owner', undefined]) expect(await may(connect('a.example'), person)).toBe(true);
    expect(await may(connect('b.example'), 'telegram:1')).toBe(false);
    expect(await may(connect('a.example', 'b.example'), 'telegram:1')).toBe(false);
    const other = { ...connect('a.example'), connections: [{ host: 'a.example', port: 80, program: 'curl' }] };
    expect(await may(other, 'telegram:1')).toBe(false);
  });

  it('counts until it is over or revoked', async () => {
    await give('a.example', new Date(Date.now() - 1));
    expect(await may(connect('a.example'))).toBe(false);
    await give('a.example', new Date(Date.now() + 60_000));
    expect(await may(connect('a.example'))).toBe(true);
    const [grant, ...others] = await hostGrants(rig.store.grants, new Date());
    expect([grant?.host, grant?.port, others.length]).toEqual(['a.example', 443, 0]);
    expect(await revokeHosts(rig.store.grants, grant ? [grant] : [], 'root')).toHaveLength(1);
    expect(await revokeHosts(rig.store.grants, grant ? [grant] : [], 'root')).toHaveLength(0);
    expect(await may(connect('a.example'))).toBe(false);
    const outcomes = (await rig.records()).filter(({ kind }) => kind === 'grant').map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['granted', 'granted', 'revoked']);
  });
});
