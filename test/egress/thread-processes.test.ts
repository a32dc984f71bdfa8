import { afterEach, describe, expect, it } from 'vitest';
import { EgressThread } from '../../src/egress/thread.ts';
import { Namespace, type NamespaceOptions, noRules } from './namespace.ts';

const toy = new URL('./toy-worker.ts', import.meta.url);
const made: { thread: EgressThread; namespaces: Namespace[] } = { thread: new EgressThread(() => noRules, toy), namespaces: [] };

async function namespace(options?: NamespaceOptions): Promise<Namespace> {
  const one = await Namespace.make(options);
  made.namespaces.push(one);
  return one;
}

afterEach(async () => {
  await made.thread.stop();
  for (const one of made.namespaces.splice(0)) await one.remove();
});

describe('the egress thread', () => {
  it('receives connections to the proxy and to direct ports of a namespace, and answers names there', async () => {
    const box = await namespace();
    await made.thread.open(box.entrance);
    expect(await box.client('tcp', '127.0.0.1', 3128)).toBe('proxy 127.0.0.1:3128 no rule\n');
    expect(await box.client('tcp', '127.64.0.7', 443, 'hello')).toBe('name 127.64.0.7:443 no rule\nhello\n');
    expect(await box.client('udp', '127.0.0.1', 53, 'a name')).toBe('answer to a name\n');
  });
});
