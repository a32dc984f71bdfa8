import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Proof, Verdict } from '../../src/core/proof.ts';
import type { Isolation, Mount, OpenSandbox, Sandbox, SandboxSpec } from '../../src/core/sandbox.ts';
import { type ProofOptions, proofText, prove, type Sibling } from '../../src/proof/index.ts';
import { backendOf, contextIn } from '../backends.ts';
import { describeBackend } from '../engines.ts';
import { isRequired } from '../required.ts';
import { specWith } from '../sandbox-spec.ts';
import { pretendedSandbox } from './fake-sandbox.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'hermetic-proof-home-'));
  chmodSync(home, 0o700);
});
afterAll(() => rmSync(home, { recursive: true }));

const verdictsOf = (proof: Proof): Record<string, Verdict> => Object.fromEntries(proof.lines.map(({ check, verdict }) => [check, verdict]));
const linesThatAre = (proof: Proof, ...verdicts: Verdict[]) => proof.lines.filter(({ verdict }) => verdicts.includes(verdict));

describe.each(['bubblewrap', 'docker'])('the proof on a real engine', async (kind) => {
  await describeBackend(kind, (engine) => {
    const limits = { cpus: 1, memoryMb: 512, diskMb: 0, pids: 128 };
    const isContainer = engine.backend.traits.isolation === 'container';
    let spec: SandboxSpec;
    let sandbox: OpenSandbox;
    let sibling: Sibling;

    const proveThis = (options: Partial<ProofOptions> = {}): Promise<Proof> =>
      prove({ sandbox, spec, backend: engine.backend, hermeticHome: home, engineSockets: ['/var/run/docker.sock'], ...options });
    const open = async (wishes: Partial<SandboxSpec>) => {
      const wished = engine.spec({ limits, ...wishes });
      return { spec: wished, sandbox: await engine.open(wished) };
    };
    const claiming = (isolation: Isolation) => ({ kind: engine.kind, traits: { ...engine.backend.traits, isolation } });

    beforeAll(async () => {
      const [first, second] = await Promise.all([open({}), open({})]);
      ({ spec, sandbox } = first);
      sibling = second;
    });

    it('holds every check of a proof, and leaves nothing behind', async () => {
      const proof = await proveThis({ sibling });
      expect(linesThatAre(proof, 'broken', 'unknown'), proofText(proof)).toEqual([]);
      expect(proof.held).toBe(true);
      expect(proof.lines).toHaveLength(28);
      // An engine without user namespaces makes root inside root outside, with fewer capabilities.
      expect(linesThatAre(proof, 'open').map(({ check }) => check)).toEqual(isContainer ? ['user'] : []);
      expect(Date.now() - proof.provenAt.getTime()).toBeLessThan(60_000);
      expect(readdirSync(home)).toEqual([]);
      for (const each of [sandbox, sibling.sandbox]) expect(await output(each, 'ls -A /tmp /workspace | grep hermetic-proof')).toBe('');
    });

    it('keeps the session unchanged, and ignores its functions, aliases and variables', async () => {
      const traps = ['printf', 'exec', 'env', 'read', 'say', 'unset', 'bash', 'kill'].map((name) => `${name}() { echo lies; }; `);
      const command = `cd /tmp; export PATH=/nowhere BASH_ENV=/nowhere LC_ALL=fr_FR.UTF-8; alias exec='echo lies' env='echo lies'; ${traps.join('')}`;
      const { sandbox: poisoned, spec: own } = await open({});
      await (await poisoned.exec({ command })).exit;
      const proof = await proveThis({ sandbox: poisoned, spec: own });
      expect(proof.held, proofText(proof)).toBe(true);
      expect(linesThatAre(proof, 'unknown').map(({ check }) => check)).toEqual(['sibling-files', 'sibling-ports']);
      expect(poisoned.cwd).toBe('/tmp');
      await poisoned.destroy();
    });

    it("breaks the proof when the host's temporary directory is mounted", async () => {
      const opened = await open({ mounts: [{ source: tmpdir(), target: '/data', readOnly: false }] });
      const proof = await proveThis({ ...opened, sibling });
      expect(proof.held).toBe(false);
      expect(verdictsOf(proof)).toMatchObject({
        probe: 'held',
        'host-file': 'broken',
        'hermetic-home': 'broken',
        'sibling-files': 'broken',
      });
      expect(proof.lines.find(({ check }) => check === 'host-file')?.happened).toMatch(/read inside at \/data\//);
      await opened.sandbox.destroy();
    });

    it("breaks the proof when /tmp inside is the host's", async () => {
      const opened = await open({ mounts: [{ source: '/tmp', target: '/tmp', readOnly: false }] });
      const proof = await proveThis(opened);
      expect(verdictsOf(proof)).toMatchObject({ 'host-temp': 'broken' });
      await opened.sandbox.destroy();
    });

    it("breaks the proof when Hermetic's home is mounted, even unreadable inside", async () => {
      const opened = await open({ mounts: [{ source: home, target: '/opt/home', readOnly: true }] });
      const proof = await proveThis(opened);
      expect(linesThatAre(proof, 'broken').map(({ check }) => check)).toEqual(['hermetic-home']);
      await opened.sandbox.destroy();
    });

    it('measures the sandbox and not its configuration', async () => {
      const source = mkdtempSync(join(tmpdir(), 'hermetic-proof-mount-'));
      chmodSync(source, 0o777);
      const mount = (readOnly: boolean): Mount[] => [{ source, target: '/data', readOnly }];
      const opened = await open({ mounts: mount(false) });
      const undocumented = await proveThis({
        ...opened,
        spec: { ...opened.spec, mounts: [], limits: { ...limits, memoryMb: 64, pids: 16 } },
      });
      expect(verdictsOf(undocumented)).toMatchObject({ 'writable-mounts': 'broken', 'limit-memory': 'broken', 'limit-pids': 'broken' });
      const notReadOnly = await proveThis({ ...opened, spec: { ...opened.spec, mounts: mount(true) } });
      expect(verdictsOf(notReadOnly)).toMatchObject({ 'read-only-mounts': 'broken', 'writable-mounts': 'broken' });
      const asItIs = await proveThis(opened);
      expect(asItIs.held, proofText(asItIs)).toBe(true);
      expect(readdirSync(source)).toEqual([]);
      await opened.sandbox.destroy();
      rmSync(source, { recursive: true });
    });

    it('breaks the proof when a writable mount is the directory of another sandbox', async () => {
      const proof = await proveThis({ spec: { ...spec, directory: sibling.spec.directory } });
      expect(verdictsOf(proof)['writable-mounts']).toBe('broken');
    });

    it('reports a missing limit as open', async () => {
      const proof = await proveThis({ spec: { ...spec, limits: { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 } } });
      expect(verdictsOf(proof)).toMatchObject({ 'limit-memory': 'open', 'limit-pids': 'open', 'limit-cpu': 'open' });
    });

    it('reports an open network as open, and as broken when none was asked for', async (context) => {
      const answer = engine.backend.traits.honours['network-open'];
      if (answer !== true) return context.skip(answer);
      const opened = await open({ network: 'open' });
      const proof = await proveThis(opened);
      expect(verdictsOf(proof)).toMatchObject({ 'cloud-metadata': 'open', 'host-loopback': 'held' });
      expect(['open', 'held']).toContain(verdictsOf(proof)['host-network']);
      expect(proof.held, proofText(proof)).toBe(true);
      const claimed = await proveThis({ ...opened, spec: { ...opened.spec, network: 'none' } });
      expect(verdictsOf(claimed)['cloud-metadata']).toBe('broken');
      await opened.sandbox.destroy();
    });

    it('breaks the proof for root of a container when the backend promised more', async (context) => {
      if (!isContainer) return context.skip('only root of a container has capabilities');
      const backend = claiming('process');
      const brokenWith = async (image: true | string): Promise<string[]> => {
        const traits = { ...backend.traits, honours: { ...backend.traits.honours, image } };
        return linesThatAre(await proveThis({ backend: { ...backend, traits } }), 'broken').map(({ check }) => check);
      };
      const always = ['namespaces', 'user', 'capabilities'];
      expect(await brokenWith('it has no image')).toEqual(expect.arrayContaining([...always, 'writable-mounts']));
      // The file system of an image is its own to write to.
      const broken = await brokenWith(true);
      expect(broken).toEqual(expect.arrayContaining(always));
      expect(broken).not.toContain('writable-mounts');
    });

    it('breaks the proof of a sandbox that has ended', async () => {
      const opened = await open({ persistent: false });
      await opened.sandbox.destroy();
      const proof = await proveThis(opened);
      expect(proof.lines[0]).toMatchObject({ check: 'probe', verdict: 'broken' });
      expect(linesThatAre(proof, 'held')).toEqual([]);
    });
  });
});

describe('a pretended sandbox', () => {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-pretended-'));
  const backend = backendOf('bubblewrap', contextIn(directory));
  afterAll(() => rmSync(directory, { recursive: true }));
  const spec = specWith({ directory });
  const proveThis = (words: string[] = [], options: Partial<ProofOptions> = {}): Promise<Proof> =>
    prove({ sandbox: pretendedSandbox(...words), spec, backend, hermeticHome: home, engineSockets: [], ...options });

  it("detects that another address leads to the host's own ports", async () => {
    const proof = await proveThis([], { spec: { ...spec, network: 'open' }, hostAliases: ['127.0.0.1'] });
    expect(proof.lines.find(({ check }) => check === 'host-network')).toMatchObject({
      verdict: 'broken',
      happened: expect.stringMatching(/^Even a port of 127\.0\.0\.1/),
    });
  });

  it('detects a sandbox that runs commands on the host', async () => {
    const proof = await proveThis();
    expect(proof.held).toBe(false);
    const broken = [
      'namespaces',
      'host-file',
      'hermetic-home',
      'host-temp',
      'host-processes',
      'host-signal',
      'host-loopback',
      'host-network',
    ];
    expect(linesThatAre(proof, 'broken').map(({ check }) => check)).toEqual(expect.arrayContaining([...broken, 'writable-mounts']));
    expect(proof.lines.find(({ check }) => check === 'host-signal')?.happened).toMatch(/ended from inside/);
  });

  const bwrap = '/usr/bin/bwrap';
  const isTested = existsSync(bwrap) || isRequired('bubblewrap');
  it.runIf(isTested)('detects a sandbox that shares network and files with the host', async (context) => {
    const own = ['user', 'pid', 'ipc', 'uts'].map((kind) => `--unshare-${kind}`);
    const proof = await proveThis([bwrap, ...own, '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev']);
    if (verdictsOf(proof).probe !== 'held' && !isRequired('bubblewrap')) return context.skip('bubblewrap does not work here');
    expect(proof.lines.find(({ check }) => check === 'namespaces')).toMatchObject({
      verdict: 'broken',
      happened: expect.stringMatching(/: net\.$/),
    });
    expect(verdictsOf(proof)).toMatchObject({
      'host-file': 'broken',
      'hermetic-home': 'broken',
      'host-loopback': 'broken',
      'host-processes': 'held',
      'host-signal': 'held',
      seccomp: 'broken',
    });
  });
});

describe('a backend without isolation', () => {
  it('breaks the proof of a backend without isolation without trying anything', async () => {
    const untouched = new Proxy({} as OpenSandbox, {
      get: (_, name) => {
        throw new Error(`the sandbox was asked for ${String(name)}`);
      },
    });
    const backend = backendOf('local', contextIn(home));
    const spec = { directory: home } as SandboxSpec;
    const proof = await prove({ sandbox: untouched, spec, backend, hermeticHome: home, engineSockets: [] });
    expect(proof).toMatchObject({ held: false, lines: [{ check: 'isolation', verdict: 'broken' }] });
    expect(proof.lines[0]?.happened).toMatch(/^local is not contained/);
  });
});

async function output(sandbox: Sandbox, command: string): Promise<string> {
  const handle = await sandbox.exec({ command, stateless: true });
  let text = '';
  for await (const { data } of handle.output) text += data.toString();
  return text;
}
