import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { checkModel } from '../../src/models/check.ts';
import { openModel } from '../../src/models/index.ts';
import { says, startModelServer } from '../fakes/model-server.ts';

/** The clock of Node's own \`fetch\` runs out after five minutes; here it is set to less. */
function hastenFetch(): void {
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 100, bodyTimeout: 100 }));
  onTestFinished(() => setGlobalDispatcher(before));
}

it('a model that may be silent for long is waited for as long as is configured, and not as long as fetch waits', async () => {
  hastenFetch();
  const loaded = Promise.withResolvers<void>();
  await using server = await startModelServer(async () => {
    await loaded.promise;
    return says('ok');
  });
  const settings = { provider: 'ollama', model: 'large', base_url: server.url } as const;
  const waiting = checkModel(await openModel({ ...settings, stall_seconds: 600 }, {}));
  expect(await checkModel(await openModel(settings, {}))).toMatchObject({ usable: false });
  loaded.resolve();
  expect(await waiting).toEqual({ usable: true });
});
