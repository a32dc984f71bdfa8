/**
 * A program that asks for permission and does what it was allowed, for tests of what happens when such a program dies. Its database and its task come on
 * the command line.
 */
import { appendFileSync } from 'node:fs';
import { guardOf } from '../../src/approval/guard.ts';
import { Questions } from '../../src/approval/questions.ts';
import { Recorder } from '../../src/audit/recorder.ts';
import { openStore } from '../../src/stores/index.ts';
import { policy } from '../bash-judge/corpus.ts';
import { command, judgeContext, session } from './calls.ts';

const [path = '', marker = '', run, timeoutMs = '60000'] = process.argv.slice(2);
const store = await openStore(path);
const redact = (text: string): string => text;
const questions = new Questions({ ledger: store.approvals, approvers: [], redact });
const recorder = new Recorder(async () => store.audit);
const guard = guardOf({
  policy,
  callContext: async () => ({ judgeContext, sandbox: 'abc', backend: 'local', bring: () => undefined }),
  session,
  run,
  mode: 'manual',
  cronMode: 'deny',
  timeoutMs: Number(timeoutMs),
  approvers: [],
  stores: async () => ({ questions, grants: store.grants, modes: store.modes, record: (event) => recorder.record(event) }),
  redact,
});
const origin = { source: 'chat', role: 'user', approver: undefined } as const;
const permission = await guard([command('rm -rf build')], origin, new AbortController().signal);
if (permission.allowed) appendFileSync(marker, 'ran\n');
console.log(JSON.stringify(permission));
await store.close();
