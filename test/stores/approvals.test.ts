import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyLog } from '../../src/audit/verify.ts';
import { openStore } from '../../src/stores/index.ts';
import { approvalStoreContract } from '../contracts/approval-store.ts';
import { finish, start } from './processes.ts';
import { scratchPaths } from './scratch.ts';

const newPath = scratchPaths();

describe('the contract', () => {
  approvalStoreContract(() => {
    const path = newPath();
    return { open: () => openStore(path) };
  });
});

describe('several processes', () => {
  it('several processes append to one audit chain without forking it', async () => {
    const path = newPath();
    const body = `
      const store = await openStore(path);
      for (let i = 0; i < 40; i++) await store.audit.append([{ at, actor: 'a', session: [], kind: 'tool', what: { i }, outcome: String(process.pid) }]);
      await store.close();`;
    await Promise.all([0, 1, 2].map(() => finish(start(path, body))));
    const store = await openStore(path);
    expect(await verifyLog(store.audit, dirname(path))).toMatchObject({ records: 120, problems: [], head: { seq: 120 } });
    expect(new Set((await store.audit.list({}, 1000)).map(({ outcome }) => outcome)).size).toBe(3);
    await store.close();
  });
});
