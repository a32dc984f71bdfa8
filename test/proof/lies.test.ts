import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Proof } from '../../src/core/proof.ts';
import type { Backend, Sandbox, SandboxSpec } from '../../src/core/sandbox.ts';
import { proofJson, proofText, prove } from '../../src/proof/index.ts';
import { backendOf, contextIn } from '../backends.ts';
import { specWith } from '../sandbox-spec.ts';
import { lyingSandbox, type Script } from './fake-sandbox.ts';

let home: string;
let backend: Backend;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'hermetic-lies-'));
  backend = backendOf('bubblewrap', contextIn(home));
});
afterAll(() => rmSync(home, { recursive: true }));

function specOf(wishes: Partial<SandboxSpec> = {}): SandboxSpec {
  return specWith({ directory: join(home, 'nowhere'), limits: { cpus: 1, memoryMb: 64, diskMb: 0, pids: 64 }, ...wishes });
}

async function proofOf(sandbox: Sandbox | Script, timeoutMs = 5_000): Promise<Proof> {
  const proven = typeof sandbox === 'function' ? lyingSandbox(sandbox) : sandbox;
  return await prove({ sandbox: proven, spec: specOf(), backend, hermeticHome: home, engineSockets: [], timeoutMs });
}

const verdictsOf = (proof: Proof) => Object.fromEntries(proof.lines.map(({ check, verdict }) => [check, verdict]));

/** What an honest and tight sandbox would print. */
const bestOutcomes: Record<string, [string, string]> = {
  look: ['absent', ''],
  processes: ['unseen', '3'],
  signal: ['absent', ''],
  connect: ['refused', 'Connection refused'],
  hash: ['absent', ''],
  write: ['refused', 'Read-only file system'],
  socket: ['absent', ''],
  devices: ['absent', ''],
  'user-namespace': ['refused', 'Operation not permitted'],
  place: ['written', ''],
  remove: ['written', ''],
  end: ['written', ''],
};

const bestFacts = [
  ...['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => `status-${name}\t0000000000000000`),
  ...['status-NoNewPrivs\t1', 'status-Seccomp\t2', 'status-Uid\t1000 1000 1000 1000', 'user-map\t1000 100000 1'],
  ...['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'].map((kind) => `namespace-${kind}\t${kind}:[1]`),
  ...['mount\t1 1 0:99 / / ro - tmpfs tmpfs rw', 'mount\t2 1 0:98 / /tmp rw - tmpfs tmpfs rw', 'route\tIface Destination'],
  ...['limit-memory\t67108864', 'limit-pids\t64'],
];

/** `changed`: other outcomes for some questions, or none. */
function liar(changed: Record<string, [string, string]> = {}, facts: readonly string[] = bestFacts): Script {
  return async function* (questions) {
    yield `${facts.map((fact) => `fact\t${fact}\n`).join('')}ready\n`;
    for await (const [verb = '', id] of questions) {
      const [outcome, detail] = { ...bestOutcomes, ...changed }[verb] ?? ['failed', ''];
      yield `answer\t${id}\t${outcome}\t${detail}\n`;
      if (verb === 'end') return;
    }
  };
}

describe('a sandbox that breaks the protocol', () => {
  const cases: Record<string, Script> = {
    'prints something else': async function* () {
      yield 'all is well\n';
    },
    'prints half a line and ends': async function* () {
      yield 'fact\tstatus-Se';
    },
    'ends at once': async function* () {
      yield '';
    },
    'prints without end': async function* () {
      for (;;) yield `fact\tmount\t${'x'.repeat(1_000)}\n`.repeat(60);
    },
    'prints one endless line': async function* () {
      for (;;) yield 'x'.repeat(60_000);
    },
    'prints bytes that are no text': async function* () {
      yield Buffer.from([0, 255, 254, 10, 0, 10]);
    },
    'answers before it is asked': async function* () {
      yield 'ready\nanswer\t1\tabsent\t\n';
    },
    'is ready twice': async function* () {
      yield 'ready\nready\n';
    },
    'answers twice': async function* (questions) {
      yield 'ready\n';
      for await (const [, id] of questions) yield `answer\t${id}\tabsent\t\nanswer\t${id}\tabsent\t\n`;
    },
    'answers the second question first': async function* (questions) {
      yield 'ready\n';
      for await (const [, id] of questions) yield `answer\t${Number(id) + 1}\tabsent\t\n`;
    },
    'stops answering half way': async function* (questions) {
      yield 'ready\n';
      let count = 0;
      for await (const [, id] of questions) {
        count += 1;
        if (count > 3) return;
        yield `answer\t${id}\tfailed\t\n`;
      }
    },
  };

  it.each(Object.entries(cases))('fails the proof of a sandbox that %s', async (_case, script) => {
    const proof = await proofOf(script);
    expect(proof.held).toBe(false);
    expect(proof.lines[0]).toMatchObject({ check: 'probe', verdict: 'broken' });
    expect(proof.lines.filter(({ verdict }) => verdict === 'held')).toEqual([]);
  });

  it('fails the proof of a silent sandbox within its deadline', async () => {
    const before = performance.now();
    const proof = await proofOf(async function* (questions) {
      yield '';
      for await (const _ of questions) await new Promise(() => undefined);
    }, 300);
    expect(performance.now() - before).toBeLessThan(30_000);
    expect(proof.held).toBe(false);
    expect(proof.lines[0]?.happened).toContain('did not answer within 0.3 s');
  });

  it('fails the proof of a sandbox in which no probe starts', async () => {
    const sandbox = { ...lyingSandbox(liar()), exec: () => Promise.reject(new Error('it is\u001b[2J gone')) };
    const proof = await proofOf(sandbox);
    expect(proof.lines[0]).toMatchObject({ verdict: 'broken', happened: 'The probe could not be started: it is [2J gone.' });
    expect(proof.lines.filter(({ verdict }) => verdict === 'held')).toEqual([]);
  });
});

describe('a sandbox that lies', () => {
  it('marks what only the sandbox reports as unknown or as told inside', async () => {
    const proof = await proofOf(liar());
    expect(verdictsOf(proof)).toMatchObject({ probe: 'unknown', namespaces: 'unknown', 'host-network': 'unknown', 'limit-cpu': 'unknown' });
    const told = proof.lines.filter(({ check }) =>
      ['capabilities', 'seccomp', 'no-new-privileges', 'user', 'writable-mounts'].includes(check),
    );
    expect(told).toHaveLength(5);
    for (const line of told) expect(line).toMatchObject({ verdict: 'held', happened: expect.stringContaining('told inside') });
  });

  it.each([
    ['look', 'present', 'host-file'],
    ['look', 'present', 'hermetic-home'],
    ['processes', 'seen', 'host-processes'],
    ['signal', 'refused', 'host-signal'],
    ['write', 'written', 'run-directory'],
    ['write', 'written', 'kernel-files'],
    ['write', 'written', 'read-only-mounts'],
    ['socket', 'present', 'engine-socket'],
    ['devices', 'present', 'devices'],
    ['user-namespace', 'allowed', 'user-namespaces'],
  ])('breaks the proof when %s answers %s: %s', async (verb, outcome, check) => {
    const proof = await proofOf(liar({ [verb]: [outcome, 'x /x'] }));
    expect(proof.held).toBe(false);
    expect(verdictsOf(proof)[check]).toBe('broken');
  });

  it.each([
    ['connect', 'connected', 'host-loopback'],
    ['signal', 'sent', 'host-signal'],
  ])('marks a check as unknown when %s answers %s and the host saw nothing: %s', async (verb, outcome, check) => {
    const proof = await proofOf(liar({ [verb]: [outcome, ''] }));
    expect(verdictsOf(proof)[check]).toBe('unknown');
  });

  it.each(['look', 'processes', 'signal', 'connect', 'hash', 'write', 'socket', 'devices', 'user-namespace', 'place'])(
    'marks a check as unknown when %s answers with an unknown word',
    async (verb) => {
      const [honest, odd] = await Promise.all([proofOf(liar()), proofOf(liar({ [verb]: ['maybe', ''] }))]);
      const changed = odd.lines.filter((line, index) => line.verdict !== honest.lines[index]?.verdict);
      expect(changed.length).toBeGreaterThan(0);
      for (const { verdict } of changed) expect(verdict).toBe('unknown');
    },
  );

  it.each([
    ['status-CapEff', '0000000000200000', 'capabilities', 'broken'],
    ['status-CapBnd', 'all of them', 'capabilities', 'unknown'],
    ['status-NoNewPrivs', '0', 'no-new-privileges', 'broken'],
    ['status-NoNewPrivs', 'yes', 'no-new-privileges', 'unknown'],
    ['status-Seccomp', '0', 'seccomp', 'broken'],
    ['status-Uid', '0 0 0 0', 'user', 'unknown'],
    ['user-map', '0 0 4294967295', 'user', 'held'],
    ['limit-memory', '134217728', 'limit-memory', 'broken'],
    ['limit-memory', 'max', 'limit-memory', 'open'],
    ['limit-pids', 'many', 'limit-pids', 'unknown'],
    ['mount', '1 1 8:1 /srv /srv rw - ext4 /dev/sda rw', 'writable-mounts', 'broken'],
    ['mount', 'nonsense', 'writable-mounts', 'unknown'],
    ['route', 'eth0 00000000 010011AC 0003 0 0 0 00000000 0 0 0', 'cloud-metadata', 'broken'],
  ])('judges the fact %s %s: %s is %s', async (name, value, check, verdict) => {
    const facts = [...bestFacts.filter((fact) => !fact.startsWith(`${name}\t`)), `${name}\t${value}`];
    expect(verdictsOf(await proofOf(liar({}, facts)))[check]).toBe(verdict);
  });

  it.each(['status-CapEff', 'status-NoNewPrivs', 'status-Seccomp', 'status-Uid', 'mount', 'route', 'limit-memory', 'limit-pids'])(
    'marks a check as unknown when the fact %s is missing',
    async (name) => {
      const facts = bestFacts.filter((fact) => !fact.startsWith(name));
      const [all, less] = await Promise.all([proofOf(liar()), proofOf(liar({}, facts))]);
      const lost = all.lines.filter(({ verdict }, index) => verdict === 'held' && less.lines[index]?.verdict === 'unknown');
      expect(lost.length).toBeGreaterThan(0);
    },
  );
});

describe('the text of a proof', () => {
  it('strips control characters of the sandbox from a proof and bounds its lines', async () => {
    const evil = '\u001b]0;owned\u0007\u202edetrever\u0000 \u009b2J'.replace('\u0000', '');
    const proof = await proofOf(liar({ devices: ['present', `${evil}/dev/sda`], write: ['refused', evil.repeat(400)] }));
    for (const text of [proofText(proof), JSON.stringify(proofJson(proof))]) {
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(Math.max(...text.split(/\n|","/).map((row) => row.length))).toBeLessThan(600);
    }
  });

  it('prints one aligned verdict per line, with the time', async () => {
    const rows = proofText(await proofOf(liar())).split('\n');
    expect(rows[0]).toMatch(/^unknown {2}probe {14}/);
    expect(rows.at(-2)).toMatch(/^Contained: \d+ held, 0 broken, \d+ open, \d+ unknown; \d{4}-\d\d-\d\dT/);
  });

  it('converts a proof to JSON', async () => {
    const proof = await proofOf(liar());
    const kept = JSON.parse(JSON.stringify(proofJson(proof)));
    expect(kept).toEqual({ provenAt: proof.provenAt.toISOString(), held: true, lines: proof.lines });
  });

  it('leaves no file in the home after a proof', async () => {
    await proofOf(liar());
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('a sandbox that hangs', () => {
  const never = () => new Promise<never>(() => undefined);

  it('ends the proof of a sandbox in which nothing starts', async () => {
    const proof = await proofOf({ ...lyingSandbox(liar()), exec: never }, 200);
    expect(proof.lines[0]).toMatchObject({ check: 'probe', verdict: 'broken' });
  });

  it('ends a proof whose sibling sandbox hangs', async () => {
    const sandbox = { ...lyingSandbox(liar()), exec: never, writeFile: never };
    const options = { backend, hermeticHome: home, engineSockets: [], timeoutMs: 400 };
    const proof = await prove({ sandbox: lyingSandbox(liar()), spec: specOf(), sibling: { sandbox, spec: specOf() }, ...options });
    expect(verdictsOf(proof)).toMatchObject({ 'sibling-files': 'unknown', 'sibling-ports': 'unknown' });
  });
});
