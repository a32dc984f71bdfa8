import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { BoundSecret } from '../../src/core/egress.ts';
import { credentialHeaders, placeholderFor } from '../../src/egress/bound-secret.ts';
import { HostCertificates, makeAuthority } from '../../src/egress/certificates.ts';
import { FakeLine } from './fake-line.ts';
import { SessionRig } from './session-rig.ts';

const value = `ghp_${'R'.repeat(36)}`;
const secret: BoundSecret = {
  name: 'TOKEN',
  value,
  placeholder: placeholderFor('TOKEN', value.length, 'key', 'ghp_'),
  destinations: [{ host: 'api.test', port: 443 }],
  headers: credentialHeaders,
  query: false,
  path: false,
  exclusive: false,
};
const [authority, world] = [makeAuthority('Hermetic egress'), makeAuthority('World')];

let rig: SessionRig;
afterEach(async () => await rig.stop());

/** What a program inside gets for a request with the placeholder. */
async function answerInside(): Promise<string> {
  const { peer, status } = await rig.tunnel('api.test:443');
  expect(status).toContain('200');
  const socket = connect({ socket: peer.socket, servername: 'api.test', ca: authority.certificate, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const outgoing = request({
    createConnection: () => socket,
    headers: { authorization: `Bearer ${secret.placeholder}`, host: 'api.test' },
  });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response');
  return await text(incoming);
}

async function start(allow: string[], line: FakeLine): Promise<string[]> {
  const arrived: string[] = [];
  rig = await new SessionRig({ allow, vault: { authority, secrets: [secret] }, roots: [world.certificate], asking: line }).start();
  const { certificate: cert, key } = new HostCertificates(world).for('api.test');
  const host = createServer({ cert, key }, ({ headers }, response) => {
    arrived.push(headers.authorization ?? '');
    response.end('hello');
  });
  await rig.serve(443, host);
  return arrived;
}

describe('a host that has a secret', () => {
  it('is asked about when no rule allows it, once for its tunnel and all requests, and gets the value after the yes', async () => {
    const line = new FakeLine();
    const arrived = await start([], line);
    const answer = answerInside();
    await line.asked('api.test');
    expect(rig.lookups).toEqual([]);
    line.answer('api.test', { allowed: true, until: 'command-ends' });
    expect(await answer).toBe('hello');
    expect(await answerInside()).toBe('hello');
    expect(arrived).toEqual([`Bearer ${value}`, `Bearer ${value}`]);
    expect(line.questions).toHaveLength(1);
    expect(rig.allowed.take()).toMatchObject([{ host: 'api.test', port: 443, count: 2, rule: undefined, secrets: ['TOKEN'] }]);
  });

  it('is told with the names of the secrets that requests had, and never with their values', async () => {
    const arrived = await start(['api.test'], new FakeLine());
    rig.rules = { ...rig.rules, notesAllowed: true };
    expect(await answerInside()).toBe('hello');
    expect(arrived).toEqual([`Bearer ${value}`]);
    const allowed = rig.allowed.take();
    expect(allowed).toMatchObject([{ host: 'api.test', port: 443, count: 1, rule: 'api.test', secrets: ['TOKEN'] }]);
    expect(JSON.stringify(allowed)).not.toContain(value);
  });
});
