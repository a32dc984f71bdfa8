import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Proof } from '../../src/core/proof.ts';
import type { Backend, SandboxSpec } from '../../src/core/sandbox.ts';
import { addressesIn, nameQuery } from '../../src/proof/egress.ts';
import { proofText, prove } from '../../src/proof/index.ts';
import { backendOf, contextIn } from '../backends.ts';
import { describeBackend } from '../engines.ts';
import { specWith } from '../sandbox-spec.ts';
import { lyingSandbox, type Script } from './fake-sandbox.ts';

let home: string;
let backend: Backend;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'hermetic-restricted-'));
  backend = backendOf('bubblewrap', contextIn(home));
});
afterAll(() => rmSync(home, { recursive: true }));

const ownChecks = ['network-routes', 'proxy-unlisted', 'proxy-host', 'proxy-metadata', 'name-server'];
const lineOf = (proof: Proof, check: string) => proof.lines.find((each) => each.check === check);

/** The answer of the name server inside: this address, or none. */
function named(query: Buffer, address: string | undefined): Buffer {
  const answer = Buffer.concat([query, ...(address ? [Buffer.from('c00c00010001000000050004', 'hex')] : [])]);
  answer.writeUInt16BE(0x8180, 2);
  answer.writeUInt16BE(address ? 1 : 0, 6);
  return Buffer.concat([answer, Buffer.from((address ?? '').split('.').filter(Boolean).map(Number))]);
}

interface Behaviour {
  /** The status of the proxy for a destination, or another outcome of asking it. */
  proxy?: (destination: string, word: string) => string | Promise<string>;
  address?: string | undefined;
  isSilent?: boolean;
  routes?: readonly string[];
}

/** A sandbox that says of itself that its network behaves like this. */
function sandboxThat({ proxy = () => '403', address = '127.64.0.1', isSilent = false, routes = [] }: Behaviour): Script {
  return async function* (questions) {
    yield `${['Iface Destination', ...routes].map((route) => `fact\troute\t${route}\n`).join('')}ready\n`;
    for await (const [verb = '', id, , second = '', third = ''] of questions) {
      if (verb === 'tunnel') {
        const status = await proxy(second, third);
        yield `answer\t${id}\t${/^\d/.test(status) ? `answered\t${status}` : `${status}\t`}\n`;
      } else if (verb === 'datagram')
        yield `answer\t${id}\t${isSilent ? 'silent\t' : `answered\t${named(Buffer.from(third, 'hex'), address).toString('hex')}`}\n`;
      else yield `answer\t${id}\t${verb === 'connect' ? 'refused' : 'failed'}\t\n`;
      if (verb === 'end') return;
    }
  };
}

async function proofOf(behaviour: Behaviour, network: SandboxSpec['network'] = 'restricted'): Promise<Proof> {
  const spec = specWith({ directory: join(home, 'nowhere'), network });
  return await prove({ sandbox: lyingSandbox(sandboxThat(behaviour)), spec, backend, hermeticHome: home, engineSockets: [] });
}

describe('the proof of a restricted network', () => {
  it('the proof holds when the proxy refuses everything and names lead to the gateway', async () => {
    const proof = await proofOf({});
    for (const check of ownChecks) expect(lineOf(proof, check), check).toMatchObject({ verdict: 'held' });
    expect(lineOf(proof, 'proxy-host')?.happened).toMatch(/^The proxy refused 127\.0\.0\.1:\d+ and localhost:\d+/);
    expect(lineOf(proof, 'proxy-metadata')?.happened).toContain('169.254.169.254:80 and [fd00:ec2::254]:80');
  });

  it.each(['none', 'open'] as const)('the proof does not ask for a proxy where the network is %s', async (network) => {
    const proof = await proofOf({}, network);
    for (const check of ownChecks) expect(lineOf(proof, check)).toBeUndefined();
  });

  it('the proof breaks when a connection through the proxy arrives at the host', async () => {
    const proxy = async (destination: string, word: string): Promise<string> => {
      const [, port = ''] = /^127\.0\.0\.1:(\d+)$/.exec(destination) ?? [];
      if (port === '') return '403';
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(`${word}\n`);
      return '200';
    };
    const proof = await proofOf({ proxy });
    expect(proof.held).toBe(false);
    expect(lineOf(proof, 'proxy-host')).toMatchObject({
      verdict: 'broken',
      happened: expect.stringMatching(/^The host got a connection to 127\.0\.0\.1:\d+\.$/),
    });
    expect(lineOf(proof, 'proxy-unlisted')).toMatchObject({ verdict: 'held' });
  });

  it.each(['200', '502'])('the proof breaks when the proxy answers an unlisted host with %s', async (status) => {
    const proof = await proofOf({ proxy: (destination) => (destination.endsWith('.invalid:443') ? status : '403') });
    expect(lineOf(proof, 'proxy-unlisted')).toMatchObject({
      verdict: 'broken',
      happened: expect.stringContaining('did not refuse hermetic-proof-'),
    });
    expect(proof.held).toBe(false);
  });

  it('the proof breaks when the proxy connects to a metadata service', async () => {
    const proof = await proofOf({ proxy: (destination) => (destination.startsWith('169.254.') ? '200' : '403') });
    expect(lineOf(proof, 'proxy-metadata')).toMatchObject({ verdict: 'broken' });
  });

  it.each(['refused', 'silent', '503', 'maybe'])('the proof is unknown, and says why, when the proxy answers with %s', async (status) => {
    const proof = await proofOf({ proxy: () => status });
    for (const check of ['proxy-unlisted', 'proxy-host', 'proxy-metadata'])
      expect(lineOf(proof, check)).toMatchObject({ verdict: 'unknown', happened: expect.stringContaining('The proxy') });
  });

  it('the proof breaks when a name leads to an address outside', async () => {
    for (const address of ['203.0.113.7', '127.0.0.1', '127.128.0.1'])
      expect(lineOf(await proofOf({ address }), 'name-server')).toMatchObject({
        verdict: 'broken',
        happened: `The name led to ${address}.`,
      });
  });

  it('the proof holds when a name has no address, and is unknown when the name server is silent', async () => {
    const none = await proofOf({ address: '' });
    expect(lineOf(none, 'name-server')).toMatchObject({ verdict: 'held', happened: 'The name has no address inside.' });
    expect(lineOf(await proofOf({ isSilent: true }), 'name-server')).toMatchObject({ verdict: 'unknown' });
  });

  it('the proof breaks when there is a route out of the sandbox', async () => {
    const proof = await proofOf({ routes: ['eth0 00000000 010011AC 0003 0 0 0 00000000 0 0 0'] });
    expect(lineOf(proof, 'network-routes')).toMatchObject({ verdict: 'broken' });
    expect(lineOf(proof, 'cloud-metadata')).toMatchObject({ verdict: 'broken' });
  });
});

describe('the answer of a name server', () => {
  const query = nameQuery('proof.invalid');

  it('a name server is asked without a byte that bash would part it at', () => {
    expect(query.includes(10)).toBe(false);
    expect(query.toString('latin1')).toContain('\u0005proof\u0007invalid\u0000');
  });

  it('an answer of a name server has the addresses of a name', () => {
    expect(addressesIn(named(query, '127.64.0.9'), query)).toEqual(['127.64.0.9']);
    expect(addressesIn(named(query, undefined), query)).toEqual([]);
  });

  it('an answer of a name server is not read when it is cut, has another question, or is a question itself', () => {
    const answer = named(query, '127.64.0.9');
    for (let length = 0; length < answer.length; length++) expect(addressesIn(answer.subarray(0, length), query)).toBeUndefined();
    expect(addressesIn(named(nameQuery('other.invalid'), '127.64.0.9'), query)).toBeUndefined();
    expect(addressesIn(query, query)).toBeUndefined();
  });
});

describe.each(['bubblewrap', 'docker'])('the proof of a restricted network on a real engine', async (kind) => {
  await describeBackend(kind, (engine) => {
    it('the proof of a restricted network holds every check, and its connections are not told to the next command', async (context) => {
      const answer = await engine.backend.canRestrict();
      if (answer !== true) return context.skip(answer);
      const spec = engine.spec({ network: 'restricted' });
      const sandbox = await engine.open(spec);
      const proof = await prove({ sandbox, spec, backend: engine.backend, hermeticHome: home, engineSockets: [] });
      expect(proof.held, proofText(proof)).toBe(true);
      for (const check of [...ownChecks, 'host-loopback', 'host-network', 'cloud-metadata'])
        expect(lineOf(proof, check), proofText(proof)).toMatchObject({ verdict: 'held' });
      const next = await sandbox.exec({ command: 'true' });
      expect((await next.connections()).blocked).toEqual([]);
      await sandbox.destroy();
    });

    it('the proof breaks when a process inside has the value of a secret, and says nothing of secrets where there are none', async () => {
      const spec = engine.spec({ env: { TOKEN: 'the-value-of-a-secret', OTHER: 'a-placeholder' } });
      const sandbox = await engine.open(spec);
      const proofWith = async (secretValues: readonly string[]) =>
        await prove({ sandbox, spec, backend: engine.backend, hermeticHome: home, engineSockets: [], secretValues });
      expect(lineOf(await proofWith(['the-value-of-a-secret']), 'secret-values')).toMatchObject({ verdict: 'broken' });
      expect(lineOf(await proofWith(['another-value-that-is-outside']), 'secret-values')).toMatchObject({ verdict: 'held' });
      expect(lineOf(await proofWith([]), 'secret-values')).toBeUndefined();
      await sandbox.destroy();
    });
  });
});
