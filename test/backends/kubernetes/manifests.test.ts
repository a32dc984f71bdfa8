import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { kubernetesOptions } from '../../../src/backends/kubernetes/options.ts';
import { podBody } from '../../../src/backends/kubernetes/pod-spec.ts';
import { admit } from '../../fakes/kubernetes/admission.ts';
import type { RightsRule } from '../../fakes/kubernetes/cluster.ts';
import type { FakeObject } from '../../fakes/kubernetes/objects.ts';
import { loopbackHttp } from '../../fakes/loopback-server.ts';
import { describeNeeding, itNeeding } from '../../needs.ts';
import { output, useCluster } from './rig.ts';

describeNeeding(['openssl'], 'the manifests for a cluster', async () => {
  const directory = join(import.meta.dirname, '../../../deploy/kubernetes');
  const { cluster, backend, spec, open } = await useCluster();

  interface Manifest {
    kind: string;
    metadata: { name: string; namespace?: string; labels?: Record<string, string> };
    rules?: RightsRule[];
    spec?: Record<string, unknown> & { podSelector?: object; policyTypes?: string[]; ingress?: unknown[]; hard?: Record<string, string> };
    subjects?: { name: string; namespace: string }[];
    roleRef?: { name: string };
  }

  const read = (file: string): Manifest[] =>
    parseAllDocuments(readFileSync(join(directory, file), 'utf8')).map((one) => one.toJS() as Manifest);
  const { resources } = parse(readFileSync(join(directory, 'kustomization.yaml'), 'utf8')) as { resources: string[] };
  const manifests = resources.flatMap(read);
  const named = (kind: string): Manifest => manifests.find((one) => one.kind === kind) ?? expect.fail(`no ${kind}`);
  const { kubernetes_namespace: namespace } = kubernetesOptions.parse({});

  itNeeding(['machines'], 'gives the gateway exactly the rights that the backend uses, in the namespace of the sandboxes', async () => {
    const role = named('Role');
    cluster.rules = role.rules ?? [];
    const program = backend({ kubernetes_storage: 'claim' });
    expect(await program.check()).toMatchObject({ usable: true });
    const wanted = spec();
    const sandbox = await open(program, wanted);
    expect(await output(sandbox, 'echo works')).toBe('works\n');
    await program.list();
    await sandbox.destroy();
    const used = [...new Set(cluster.calls.map(({ verb, resource }) => `${verb} ${resource}`))].sort();
    const given = (role.rules ?? []).flatMap((rule) =>
      rule.resources.flatMap((resource) => rule.verbs.map((verb) => `${verb} ${resource}`)),
    );
    expect(used).toEqual(given.sort());
    expect(role.metadata.namespace).toBe(namespace);
    const binding = named('RoleBinding');
    expect(binding).toMatchObject({ metadata: { namespace }, roleRef: { name: role.metadata.name } });
    expect(manifests).toContainEqual(
      expect.objectContaining({
        kind: 'ServiceAccount',
        metadata: binding.subjects?.map(({ name, namespace: of }) => ({ name, namespace: of }))[0],
      }),
    );
  });

  it('has a namespace for sandboxes that admits their pods, and one for the gateway that is restricted', () => {
    const levels = Object.fromEntries(
      manifests
        .filter(({ kind }) => kind === 'Namespace')
        .map(({ metadata }) => [metadata.name, metadata.labels?.['pod-security.kubernetes.io/enforce']]),
    );
    expect(levels).toEqual({ hermetic: 'restricted', [namespace]: 'baseline' });
    for (const [user, level] of [
      ['root', 'baseline'],
      ['nonroot', 'restricted'],
    ] as const) {
      const options = kubernetesOptions.parse({ kubernetes_user: user });
      const body = podBody({ spec: spec(), options, installation: 'ab', guestVersion: '', command: ['true'] });
      expect(() => admit(body as unknown as FakeObject, level, [])).not.toThrow();
    }
  });

  it('closes the network of all sandboxes to others and to private addresses', () => {
    const { metadata, spec: policy } = named('NetworkPolicy');
    expect(metadata.namespace).toBe(namespace);
    expect(policy).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [] });
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10', '127.0.0.0/8'])
      expect(JSON.stringify(policy)).toContain(range);
  });

  it('bounds all sandboxes together, and admits one with the default limits', () => {
    expect(named('ResourceQuota')).toMatchObject({ metadata: { namespace }, spec: { hard: { pods: expect.any(String) } } });
    expect(named('LimitRange').metadata.namespace).toBe(namespace);
  });

  it('runs one gateway as a user without rights, under the account that the role is bound to', () => {
    const gateway = read('gateway.yaml').find(({ kind }) => kind === 'Deployment');
    expect(gateway?.spec).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
      template: {
        spec: {
          serviceAccountName: 'gateway',
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            { securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } } },
          ],
        },
      },
    });
  });

  interface Probed {
    template: { spec: { containers: Record<'startupProbe' | 'livenessProbe', { exec: { command: string[] } }>[] } };
  }

  it.each([
    [200, 0],
    [503, 1],
    [undefined, 1],
  ])('has probes of the gateway that end by what it says of itself: %s', async (status, code) => {
    const deployment = read('gateway.yaml').find(({ kind }) => kind === 'Deployment')?.spec as unknown as Probed;
    const [gateway] = deployment.template.spec.containers;
    const asked: (string | undefined)[] = [];
    const server = loopbackHttp(async (request, response) => {
      asked.push(request.url);
      response.writeHead(status ?? 500).end();
    });
    await server.comeUp();
    onTestFinished(() => (server.isUp ? server.goDown() : undefined));
    const { port } = new URL(server.origin);
    if (status === undefined) await server.goDown();
    for (const { exec } of [gateway?.startupProbe, gateway?.livenessProbe].filter((probe) => probe !== undefined)) {
      const [, ...words] = exec.command.map((word) => word.replace(':8642/', `:${port}/`));
      const child = spawn(process.execPath, words, { stdio: 'ignore' });
      expect(await once(child, 'exit')).toEqual([code, null]);
    }
    expect(asked).toEqual(status === undefined ? [] : ['/livez', '/livez']);
  });
});
