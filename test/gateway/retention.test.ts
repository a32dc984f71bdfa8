import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { applyRetention } from '../../src/app/retention.ts';
import type { QuestionBeginning, Settlement, Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';
import { Rig } from './rig.ts';

const dayMs = 24 * 60 * 60 * 1000;
const daysAgo = (days: number): Date => new Date(Date.now() - days * dayMs);
const days = 7;

function change(home: string, ...statements: string[]): void {
  const database = new DatabaseSync(join(home, 'state.db'));
  for (const statement of statements) database.exec(statement);
  database.close();
}

const question = (id: string): QuestionBeginning => ({
  id,
  code: id.toUpperCase(),
  session: 'work',
  parts: ['cli', 'work'],
  run: id,
  digest: id,
  sandbox: 'abc',
  backend: 'local',
  source: 'chat',
  person: 'telegram:1',
  actions: [{ kind: 'command', command: 'true', cwd: '/' }],
  findings: [],
  askedAt: daysAgo(9),
  expiresAt: new Date(Date.now() + dayMs),
});

async function addQuestions({ approvals, cards }: Store): Promise<void> {
  const no = (at: Date): Settlement => ({
    state: 'answered',
    at,
    answer: { kind: 'deny', by: 'ada' },
    answeredFrom: 'shell',
    grants: [],
    events: [],
  });
  const yes = (at: Date): Settlement => ({ ...no(at), answer: { kind: 'once', by: 'ada', remark: '"kind":"deny"' } }) as Settlement;
  for (const id of ['open', 'denied', 'recent', 'run', 'unrun', 'shown']) await approvals.ask(question(id), []);
  await approvals.settle('denied', no(daysAgo(8)));
  await approvals.settle('recent', no(daysAgo(6)));
  for (const id of ['run', 'unrun', 'shown']) await approvals.settle(id, yes(daysAgo(8)));
  for (const id of ['run', 'shown']) await approvals.claim(id, daysAgo(8), []);
  await cards.add({ question: 'shown', key: 'card', place: { platform: 'nowhere', workspace: undefined, chat: '1', thread: undefined } });
}

describeContained('retention', () => {
  it('a starting gateway removes everything older than its retention, and nothing else', { timeout: 120_000 }, async () => {
    const program = await Program.start({
      config: {
        gateway: { sandbox_retention_days: days, transcript_retention_days: days },
        approvals: { retention_days: days },
      },
    });
    onTestFinished(() => program.close());
    const person = (id: number) => ({ id, is_bot: false, first_name: 'Somebody' });
    for (const id of [1001, 1002]) {
      program.api.world.says({ text: '/run echo "made $(touch mine)"', from: person(id) });
      await program.shows('made', id);
      program.api.world.says({ text: `I am ${id}`, from: person(id) });
      await program.shows('Fine.', id);
    }
    await program.told();
    await program.stop();

    const home = program.directory;
    const store = await openStore(join(home, 'state.db'));
    onTestFinished(() => store.close());
    await addQuestions(store);
    await store.webLog.createChat({ id: 'web', person: 'owner', title: '', startedAt: daysAgo(9), lastActiveAt: daysAgo(9) });
    const said = { author: 'us' as const, text: 'old', buttons: [], replyTo: undefined, files: [] };
    await store.webLog.append('web', { id: 'old', ...said }, daysAgo(8));
    const long = daysAgo(8).getTime();
    change(
      home,
      `update sandboxes set last_used_at = ${long} where session like '%1001%'`,
      `update transcript set at = ${long} where session like '%1001%'`,
    );
    const sandboxes = await store.sandboxes.list();
    const of = (chat: string) => sandboxes.find(({ session }) => session.includes(chat)) ?? expect.fail(chat);
    const said1002 = (await store.conversations.read(of('1002').session)).length;
    expect(said1002).toBeGreaterThan(0);

    await program.start();
    await until('the old files are gone', () => !existsSync(of('1001').directory));
    expect(existsSync(join(of('1002').directory, 'workspace', 'mine'))).toBe(true);
    await until('the old questions are gone', async () => (await store.approvals.find('denied')) === undefined);
    expect((await store.approvals.list()).map(({ id }) => id).sort()).toEqual(['open', 'recent', 'unrun']);
    expect(await store.conversations.read(of('1001').session)).toEqual([]);
    expect(await store.conversations.read(of('1002').session)).toHaveLength(said1002);
    expect(await store.webLog.chat('web')).toBeUndefined();
    expect((await store.sandboxes.list()).map(({ name }) => name)).toEqual([of('1002').name]);

    // The person comes back to a fresh sandbox.
    program.api.world.says({ text: '/run ls -A | wc -l', from: person(1001) });
    await program.shows(/^0/m, 1001);
  });

  it('a starting gateway archives old audit records, and the command line still finds and verifies them', {
    timeout: 120_000,
  }, async () => {
    const program = await Program.start({ config: { audit: { retention_days: days } } });
    onTestFinished(() => program.close());
    await program.stop();
    const store = await openStore(join(program.directory, 'state.db'));
    const { seq: before } = await store.audit.head();
    expect(before).toBe(0);
    const old = { at: daysAgo(9), actor: 'agent', session: ['s'], kind: 'tool' as const, what: {}, outcome: 'long ago' };
    await store.audit.append([old, old, { ...old, at: new Date(), outcome: 'just now' }]);
    await store.close();
    await program.start();
    const file = join(program.directory, 'logs', 'audit-1-2.jsonl');
    await until('they are archived', () => existsSync(file) && program.output.includes('records 1 to 2'));

    const hermetic = new Hermetic({ HERMETIC_HOME: program.directory });
    expect(await hermetic.run(['audit', 'verify'])).toMatchObject({ code: 0, stdout: expect.stringContaining('3 records') });
    const { stdout } = await hermetic.run(['audit', 'export']);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).outcome),
    ).toEqual(['long ago', 'long ago', 'just now']);
    expect(JSON.parse((await hermetic.run(['audit', 'show', '2'])).stdout)).toMatchObject({ seq: 2, outcome: 'long ago' });
    expect((await hermetic.run(['audit', 'list'])).stdout).toContain('Records 1 to 2 are archived');
    writeFileSync(file, readFileSync(file, 'utf8').replace('long ago', 'never'));
    const broken = await hermetic.run(['audit', 'verify']);
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('record 1: was changed') });
  });

  it('removes nothing that is in use, however old, and nothing at all without a retention', async () => {
    const rig = await Rig.start({
      environment: { HERMETIC_GATEWAY_SANDBOX_RETENTION_DAYS: '1', HERMETIC_GATEWAY_TRANSCRIPT_RETENTION_DAYS: '1' },
    });
    onTestFinished(() => rig.close());
    const keeping = await Rig.start();
    onTestFinished(() => keeping.close());
    for (const one of [rig, keeping]) {
      await one.say('/run touch mine; echo made');
      await one.shows('made');
      change(join(one.home, '.hermetic'), 'update sandboxes set last_used_at = 1', 'update transcript set at = 1');
    }
    const [held] = await rig.store.sandboxes.list();
    await applyRetention(rig.app, (line) => rig.log.push(line));
    expect(existsSync(join(held?.directory ?? '', 'workspace', 'mine'))).toBe(true);
    await rig.say('/run ls; echo still');
    await rig.shows(/mine\s+still/);

    await keeping.stopGateway();
    await keeping.startGateway();
    await applyRetention(keeping.app, (line) => keeping.log.push(line));
    const [kept] = await keeping.store.sandboxes.list();
    expect(existsSync(join(kept?.directory ?? '', 'workspace', 'mine'))).toBe(true);
  });

  it('keeps records of interrupted turns and of messages still shown in a chat', async () => {
    const rig = await Rig.start();
    onTestFinished(() => rig.close());
    const { conversations, inbox } = rig.store;
    const place = { platform: 'fake', workspace: undefined, chat: 'ada', thread: undefined };
    await conversations.session(['s'], { title: 's', place }, daysAgo(9));
    const message = {
      kind: 'message' as const,
      place,
      at: daysAgo(9),
      text: '',
      isDirect: true,
      isAddressed: true,
      quoted: undefined,
      files: [],
    };
    const seq = await inbox.accept(['s'], { ...message, id: 'x', from: { id: 'ada', name: 'Ada' } }, daysAgo(9));
    await inbox.begin([seq ?? 0], 'interrupted');
    for (const turn of ['interrupted', 'over', 'long']) await conversations.append(['s'], turn, ['first'], daysAgo(9));
    await conversations.append(['s'], 'long', ['last'], daysAgo(1));
    await conversations.prune(daysAgo(7));
    expect((await conversations.read(['s'])).map(({ turn }) => turn)).toEqual(['interrupted', 'long', 'long']);
    await addQuestions(rig.store);
    await rig.store.approvals.prune(daysAgo(7));
    // What a chat still shows as open is needed to say there what became of it.
    expect((await rig.store.approvals.list()).map(({ id }) => id).sort()).toEqual(['open', 'recent', 'shown', 'unrun']);
    await inbox.done([seq ?? 0]);
    await conversations.prune(daysAgo(7));
    expect((await conversations.read(['s'])).map(({ turn }) => turn)).toEqual(['long', 'long']);
  });
});
