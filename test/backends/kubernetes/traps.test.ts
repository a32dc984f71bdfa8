import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { KubernetesApi } from '../../../src/backends/kubernetes/api.ts';
import { Credentials } from '../../../src/backends/kubernetes/credentials.ts';
import { Pods } from '../../../src/backends/kubernetes/pods.ts';
import { removeTree } from '../../../src/backends/sandbox-directory.ts';
import { sleepers, sleepMark, untilAsleep } from '../../contracts/sandbox/rig.ts';
import { processesWith } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { output, useCluster } from './rig.ts';

/** What only a real cluster shows, and a loopback one repeats. */
describeNeeding(['machines', 'openssl'], 'a cluster with traps', async () => {
  const { cluster, told, backend, spec, open, podOf } = await useCluster();
  const all = cluster.rules;

  afterEach(() => {
    cluster.rules = all;
    cluster.level = 'baseline';
    cluster.quota = undefined;
    cluster.lingerMs = 4_000;
    cluster.dialingError = undefined;
    cluster.instead = undefined;
  });

  describe('a runtime that ends the input of a command when one of its outputs ends', () => {
    /** Its number inside, and its three streams. */
    const tether = `for limits in /proc/[0-9]*/limits; do
    grep -q ' 70000001 ' $limits && echo \${limits//[!0-9]/} $(readlink \${limits%limits}fd/{0,1,2} | tr -d '[:digit:]')
  done; true`;

    it('keeps the three streams of the tether open, and so the tether itself, also when it has killed a command', async () => {
      const sandbox = await open(backend(), spec());
      let before = '';
      // It starts beside the first shell, and a process of its start may be there with it for a moment.
      await until('the tether alone is there', async () => {
        before = await output(sandbox, tether);
        return before.split('\n').length === 2;
      });
      expect(before).toMatch(/^\d+( \S+\.(in|out|err)){3}\n$/);
      const mark = sleepMark();
      const handle = await sandbox.exec({ command: `setsid sleep ${mark} & sleep ${mark}` });
      await untilAsleep(sandbox, mark, 2);
      await handle.kill('KILL');
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
      expect(await sleepers(sandbox, mark)).toBe(0);
      expect(await output(sandbox, tether)).toBe(before);
      await sandbox.destroy();
    });

    it('ends the input of a command that closes one of its outputs, as the loopback cluster does too', async () => {
      const wanted = spec();
      const sandbox = await open(backend(), wanted);
      const api = new KubernetesApi(new Credentials({ environment: {}, kubeconfig: cluster.kubeconfig() }));
      const attach = new Pods(api, '', 'hermetic-sandboxes').attachTo(podOf(wanted));
      const command = await attach(['bash', '-c', 'exec 2>&-; cat; echo over']);
      expect(Buffer.concat(await command.stdout.toArray()).toString()).toBe('over\n');
      await sandbox.destroy();
    });
  });

  describe('rights and rules of a cluster', () => {
    it('names both rights that a command needs when a refusal names none', async () => {
      cluster.rules = [
        { resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
        { resources: ['pods/exec'], verbs: ['get'] },
      ];
      const check = await backend().check();
      expect(check).toMatchObject({ usable: false, code: 'backend/not-permitted', fix: expect.stringContaining('both get and create') });
      expect(cluster.pods.all()).toEqual([]);
    });

    it('refuses root in a restricted namespace with the fix, and admits a user who is not', async () => {
      cluster.level = 'restricted';
      await expect(open(backend(), spec())).rejects.toMatchObject({
        code: 'backend/cannot-honour',
        hint: expect.stringContaining('terminal.kubernetes_user'),
      });
      const sandbox = await open(backend({ kubernetes_user: 'nonroot' }), spec());
      expect(await output(sandbox, 'id -u; echo kept >file && cat file; echo "$HOME"; touch ~/mine && echo own')).toBe(
        '1000\nkept\n/home/agent\nown\n',
      );
      expect(await output(sandbox, 'grep CapBnd /proc/self/status')).toMatch(/\t0+\n/);
      await sandbox.destroy();
    });
  });

  describe('a full quota', () => {
    it('says that there is no room, and when to try again', async () => {
      cluster.quota = 0;
      const wanted = spec();
      await expect(open(backend(), wanted)).rejects.toMatchObject({ code: 'sandbox/no-room', retryAfterMs: expect.any(Number) });
      expect(await backend().check()).toMatchObject({ usable: false, reason: expect.stringContaining('exceeded quota') });
    });

    it('uses the pod that another replica made meanwhile, though the quota refuses before it says that the pod exists', async () => {
      const wanted = spec();
      const first = await open(backend(), wanted);
      await first.close();
      cluster.quota = 1;
      let isHidden = true;
      cluster.instead = ({ verb, resource }, _request, response) => {
        if (!isHidden || verb !== 'get' || resource !== 'pods' || !('writeHead' in response)) return false;
        isHidden = false;
        response.writeHead(404).end('{}');
        return true;
      };
      const second = await open(backend(), wanted);
      expect(await output(second, 'echo here')).toBe('here\n');
      await second.destroy();
    });
  });

  describe('the watch', () => {
    it('hears of the end of a pod after a watch from a forgotten version', async () => {
      const wanted = spec();
      const sandbox = await open(backend(), wanted);
      await until('it is watched', () => cluster.watchCount > 0);
      cluster.pods.forgetHistory();
      cluster.endWatches();
      await until('it is watched again', () => cluster.calls.filter(({ verb }) => verb === 'watch').length > 1 && cluster.watchCount > 0);
      cluster.delete(podOf(wanted), 0);
      expect(await sandbox.ended).toContain('deleted');
      await sandbox.destroy();
    });

    it('hears of a pod that was deleted while the server was down', async () => {
      const wanted = spec();
      const sandbox = await open(backend(), wanted);
      await cluster.goDown();
      cluster.delete(podOf(wanted), 0);
      await cluster.comeUp();
      expect(await sandbox.ended).toContain('deleted');
      await sandbox.close();
    });

    it('loses the command of a deleted pod long before its streams end', async () => {
      cluster.lingerMs = 600_000;
      const wanted = spec();
      const sandbox = await open(backend(), wanted);
      const handle = await sandbox.exec({ command: 'echo begun; sleep 1000' });
      await handle.output[Symbol.asyncIterator]().next();
      cluster.delete(podOf(wanted), 0);
      expect(await handle.exit).toMatchObject({ kind: 'lost' });
      expect(await sandbox.ended).toContain('deleted');
      await sandbox.destroy();
    });

    it('says in words that a pod was evicted or ran out of memory', async () => {
      const [evicted, hungry] = [spec(), spec()];
      const program = backend();
      const [one, other] = await Promise.all([open(program, evicted), open(program, hungry)]);
      await cluster.evict(podOf(evicted), 'Pod ephemeral local storage usage exceeds the total limit of containers 50Mi.');
      expect(await one.ended).toMatch(/evicted .*ephemeral local storage/);
      await cluster.endForMemory(podOf(hungry));
      expect(await other.ended).toContain('ran out of memory');
      await Promise.all([one.destroy(), other.destroy()]);
    });

    it('is one for all sandboxes, and ends with the last of them', async () => {
      const program = backend();
      const sandboxes = await Promise.all([open(program, spec()), open(program, spec()), open(program, spec())]);
      await until('it is watched', () => cluster.watchCount === 1);
      await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
      await until('nothing is watched', () => cluster.watchCount === 0);
    });
  });

  describe('two replicas', () => {
    it('removes only the pod that was meant when another of its name has been made', async () => {
      const other = mkdtempSync(join(tmpdir(), 'hermetic-replica-'));
      const wanted = spec();
      const first = await open(backend(), wanted);
      cluster.delete(podOf(wanted), 0);
      await first.ended;
      const second = await open(backend({}, { directory: other }), { ...wanted, directory: join(other, 'kubernetes', wanted.name) });
      await first.destroy();
      expect(await output(second, 'echo still here')).toBe('still here\n');
      await second.destroy();
      await removeTree(other);
    });

    it('never touches a pod of another installation', async () => {
      const wanted = spec();
      const sandbox = await open(backend({}, { installation: 'another' }), wanted);
      const ours = { ...wanted, directory: `${wanted.directory}-ours` };
      await expect(open(backend(), ours)).rejects.toMatchObject({ code: 'sandbox/in-use' });
      expect((await backend().list()).filter(({ hasFiles }) => !hasFiles)).toEqual([]);
      expect(await output(sandbox, 'echo untouched')).toBe('untouched\n');
      await sandbox.destroy();
    });
  });

  it('keeps the command of a client that went away from running on', async () => {
    const wanted = spec();
    const sandbox = await open(backend(), wanted);
    const mark = sleepMark();
    const handle = await sandbox.exec({ command: `sleep ${mark}` });
    await untilAsleep(sandbox, mark);
    cluster.cutAll();
    expect(await handle.exit).toMatchObject({ kind: 'lost' });
    await until('it is dead', () => processesWith(mark).length === 0);
    expect(await output(sandbox, 'echo usable')).toBe('usable\n');
    await sandbox.destroy();
  });

  it('keeps the variables of the cluster out of every process', async () => {
    const sandbox = await open(backend(), spec());
    expect(await output(sandbox, 'compgen -e | grep -c KUBERNETES; env | grep -c KUBERNETES')).toBe('0\n0\n');
    const first = await output(sandbox, "tr '\\0' '\\n' </proc/1/environ | grep KUBERNETES; true");
    expect(first).toBe('');
    await sandbox.destroy();
  });

  it('passes dollars in values and commands unchanged', async () => {
    const value = '$$ $(HOME) $(date) $HOME $$(x)';
    const sandbox = await open(backend(), spec({ env: { TRICKY: value } }));
    expect(await output(sandbox, 'printf %s "$TRICKY"')).toBe(value);
    await sandbox.destroy();
  });

  describe('a pod that is there already', () => {
    it('is kept with its files while the API server does not reach its node', async () => {
      const wanted = spec();
      const first = await open(backend(), wanted);
      await output(first, 'echo kept >file');
      await first.close();
      cluster.dialingError = 'dial tcp: lookup node-1: no such host';
      await expect(open(backend(), wanted)).rejects.toMatchObject({ code: 'backend/not-running', hint: expect.stringContaining('node') });
      cluster.dialingError = undefined;
      const second = await open(backend(), wanted);
      expect(await output(second, 'cat file')).toBe('kept\n');
      await second.destroy();
    });

    it('is made again after it has ended, and the loss of its files is told', async () => {
      const wanted = spec();
      const first = await open(backend(), wanted);
      await output(first, 'echo lost >file; export GONE=1; mkdir below; cd below');
      await first.close();
      await cluster.evict(podOf(wanted), 'The node was low on resource: memory.');
      const before = told.notices.length;
      const second = await open(backend(), wanted);
      expect(told.notices.slice(before).join()).toContain('its files are gone');
      expect(await output(second, 'pwd; ls; echo "[$GONE]"')).toBe('/workspace\n[]\n');
      await second.destroy();
    });

    it('is replaced when its settings have changed, and one notice tells that files without a claim are gone', async () => {
      const wanted = spec();
      const first = await open(backend(), wanted);
      await output(first, 'echo lost >file; export GONE=1');
      await first.close();
      const before = told.notices.length;
      const second = await open(backend({ kubernetes_pod_labels: { team: 'a' } }), wanted);
      expect(told.notices.slice(before)).toEqual(['The settings of this sandbox have changed: it is replaced. Its files are gone.']);
      expect(await output(second, 'ls; echo "[$GONE]"')).toBe('[]\n');
      await second.destroy();
    });

    it('is replaced with a notice when its settings have changed, and keeps the files of a claim', async () => {
      const wanted = spec();
      const first = await open(backend({ kubernetes_storage: 'claim' }), wanted);
      await output(first, 'echo kept >file');
      await first.close();
      const before = told.notices.length;
      const second = await open(backend({ kubernetes_storage: 'claim', kubernetes_pod_labels: { team: 'a' } }), wanted);
      expect(told.notices.slice(before).join()).toMatch(/replaced. Its files stay/);
      expect(await output(second, 'cat file')).toBe('kept\n');
      await expect(open(backend(), wanted)).rejects.toMatchObject({ code: 'sandbox/in-use' });
      await second.destroy();
      expect(cluster.claims.all()).toEqual([]);
    });
  });

  it('tells why a pod waits, and fails with the reason when it never starts', async () => {
    cluster.fates.set('private:image', { kind: 'waits', reason: 'ErrImagePull', message: 'pull access denied, repository does not exist' });
    cluster.fates.set('no-bash:image', { kind: 'fails', code: 128, message: 'exec: "bash": executable file not found in $PATH' });
    await expect(open(backend(), spec({ image: 'private:image' }))).rejects.toMatchObject({
      code: 'sandbox/no-image',
      message: expect.stringContaining('pull access denied'),
    });
    await expect(open(backend(), spec({ image: 'no-bash:image' }))).rejects.toMatchObject({ hint: expect.stringContaining('bash 5') });
    await expect(open(backend({ kubernetes_runtime_class: 'kata' }), spec())).rejects.toMatchObject({
      message: expect.stringContaining('kata'),
    });
    cluster.fates.set('huge:image', { kind: 'unschedulable', message: '0/3 nodes are available: 3 Insufficient memory.' });
    const giveUp = new AbortController();
    const opening = open(backend(), spec({ image: 'huge:image' }), giveUp.signal);
    opening.catch(() => undefined);
    await until('it is told', () => told.progress.some((text) => text.includes('Insufficient memory')));
    giveUp.abort();
    await expect(opening).rejects.toThrow();
    expect(cluster.pods.all().filter(({ spec: one }) => JSON.stringify(one).includes('huge:image'))).toEqual([]);
  });

  it('refuses a cluster that does not speak the version of the exec protocol in which input can end', async () => {
    cluster.protocols = ['v4.channel.k8s.io'];
    const check = await backend().check();
    cluster.protocols = ['v5.channel.k8s.io'];
    expect(check).toMatchObject({ usable: false, fix: expect.stringContaining('1.30') });
  });
});
