import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/core/approval.ts';
import type { AuditEvent } from '../../src/core/audit.ts';
import { everyone, type GrantEntry, type GrantFilter, type QuestionBeginning, type Settlement, type Store } from '../../src/core/store.ts';
import { at, type StorePlace, storeRig } from './store-rig.ts';

function beginning(changes: Partial<QuestionBeginning> = {}): QuestionBeginning {
  return {
    id: 'id-1',
    code: 'CODE22',
    session: 'work',
    parts: ['cli', 'work'],
    run: 'run-1',
    digest: 'd1',
    sandbox: 'abc',
    backend: 'local',
    source: 'chat',
    person: 'telegram:1',
    actions: [{ kind: 'command', command: 'rm -rf build \u0000\ud800 "é"', cwd: '/w' }],
    findings: [{ rule: 'files/recursive-delete', title: 'Deletes', why: 'Gone.', program: undefined }],
    askedAt: at(0),
    expiresAt: at(300),
    ...changes,
  };
}

function grant(changes: Partial<GrantEntry> = {}): GrantEntry {
  return {
    id: 'grant-1',
    scope: 'session',
    parts: ['cli', 'work'],
    session: 'work',
    person: 'telegram:1',
    backend: 'local',
    rule: 'files/recursive-delete',
    program: 'rm',
    digest: undefined,
    grantedBy: 'ada',
    grantedAt: at(1),
    grantedFrom: 'shell',
    why: 'Deletes',
    question: 'id-1',
    expiresAt: undefined,
    revokedAt: undefined,
    revokedBy: undefined,
    ...changes,
  };
}

const event = (outcome: string): AuditEvent => ({ at: at(0), actor: 'ada', session: [], kind: 'answer', what: {}, outcome });

function answered(answer: Answer, changes: { at?: Date; grants?: readonly GrantEntry[] } = {}): Settlement {
  return { state: 'answered', at: at(1), answer, answeredFrom: 'shell', grants: [], events: [event(answer.kind)], ...changes };
}

/** The promises of `src/core/store.ts` and `src/core/audit.ts` about questions, grants, modes and the log, for any database. */
export function approvalStoreContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  const outcomes = async (): Promise<string[]> => (await rig.store.audit.list({}, 100)).map(({ outcome }) => outcome);

  describe('the approval ledger', () => {
    it('finds a question by its id and its code after the store is reopened', async () => {
      expect(await rig.store.approvals.ask(beginning(), [event('asked')])).toBe(true);
      await rig.store.close();
      const again = await rig.open();
      const none = { answer: undefined, answeredFrom: undefined, settledAt: undefined, claimedAt: undefined };
      expect(await again.approvals.find('id-1')).toStrictEqual({ ...beginning(), state: 'open', ...none });
      expect((await again.approvals.find('code22'))?.id).toBe('id-1');
      expect(await again.approvals.find('CODE2')).toBeUndefined();
    });

    it('refuses a question whose id or code was used before, even by a settled one', async () => {
      await rig.store.approvals.ask(beginning(), []);
      await rig.store.approvals.settle('id-1', { state: 'expired', at: at(1), events: [] });
      expect(await rig.store.approvals.ask(beginning({ id: 'id-2' }), [event('asked')])).toBe(false);
      expect(await rig.store.approvals.ask(beginning({ code: 'OTHER2' }), [event('asked')])).toBe(false);
      expect(await outcomes()).toEqual([]);
    });

    it('settles a question once when several processes answer at the same time', async () => {
      await rig.store.approvals.ask(beginning(), []);
      const others = await Promise.all([rig.open(), rig.open()]);
      const kinds = ['once', 'session', 'always', 'deny'] as const;
      const tries = kinds.map((kind, index) =>
        (others[index % 2] as Store).approvals.settle('id-1', answered({ kind, by: kind }, { grants: [grant({ id: kind })] })),
      );
      const won = (await Promise.all(tries)).map((settled, index) => (settled ? kinds[index] : undefined)).filter(Boolean);
      expect(won).toHaveLength(1);
      expect(await rig.store.approvals.find('id-1')).toMatchObject({ state: 'answered', answer: { kind: won[0] }, answeredFrom: 'shell' });
      expect((await rig.store.grants.list()).map(({ id }) => id)).toEqual(won);
      expect(await outcomes()).toEqual(won);
    });

    it('refuses an answer after the question has expired', async () => {
      await rig.store.approvals.ask(beginning(), []);
      expect(await rig.store.approvals.settle('id-1', answered({ kind: 'once', by: 'ada' }, { at: at(300) }))).toBe(false);
      expect(await rig.store.approvals.settle('id-1', { state: 'expired', at: at(300), events: [] })).toBe(true);
      expect(await rig.store.approvals.settle('unknown', { state: 'expired', at: at(1), events: [] })).toBe(false);
    });

    it('lets an allowed question be claimed once', async () => {
      await rig.store.approvals.ask(beginning(), []);
      expect(await rig.store.approvals.claim('id-1', at(1), [event('claimed')])).toBe(false);
      await rig.store.approvals.settle('id-1', answered({ kind: 'once', by: 'ada' }));
      expect((await rig.store.approvals.list({ unclaimed: true })).map(({ id }) => id)).toEqual(['id-1']);
      const other = await rig.open();
      const claims = await Promise.all(
        [rig.store, other, rig.store, other].map((one) => one.approvals.claim('id-1', at(2), [event('claimed')])),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await rig.store.approvals.list({ unclaimed: true })).toEqual([]);
      expect(await outcomes()).toEqual(['once', 'claimed']);
    });

    it.each<[string, (to: Store) => Promise<unknown>]>([
      ['a no', (to) => to.approvals.settle('id-1', answered({ kind: 'deny', by: 'ada' }))],
      ['silence', (to) => to.approvals.settle('id-1', { state: 'expired', at: at(1), events: [] })],
      ['a withdrawal', (to) => to.approvals.withdraw('id-1', at(1), [])],
      [
        'a withdrawal after the yes',
        async (to) => {
          await to.approvals.settle('id-1', answered({ kind: 'once', by: 'ada' }));
          await to.approvals.withdraw('id-1', at(2), []);
        },
      ],
    ])('refuses a claim after %s', async (_case, settle) => {
      await rig.store.approvals.ask(beginning(), []);
      await settle(rig.store);
      expect(await rig.store.approvals.claim('id-1', at(3), [])).toBe(false);
    });

    it('refuses to withdraw a question that was claimed', async () => {
      await rig.store.approvals.ask(beginning(), []);
      await rig.store.approvals.settle('id-1', answered({ kind: 'once', by: 'ada' }));
      await rig.store.approvals.claim('id-1', at(2), []);
      expect(await rig.store.approvals.withdraw('id-1', at(3), [event('withdrawn')])).toBe(false);
      expect(await rig.store.approvals.find('id-1')).toMatchObject({ state: 'answered', claimedAt: at(2) });
    });

    it('lists questions by age and by filter', async () => {
      await rig.store.approvals.ask(beginning({ id: 'b', code: 'B', askedAt: at(2) }), []);
      await rig.store.approvals.ask(beginning({ id: 'a', code: 'A', askedAt: at(1), run: 'run-2', parts: ['x'] }), []);
      const ids = async (filter: Parameters<Store['approvals']['list']>[0]) => (await rig.store.approvals.list(filter)).map(({ id }) => id);
      expect(await ids({})).toEqual(['a', 'b']);
      expect(await ids({ session: ['x'] })).toEqual(['a']);
      expect(await ids({ run: 'run-1', digest: 'd1', state: 'open' })).toEqual(['b']);
      expect(await ids({ state: 'expired' })).toEqual([]);
    });
  });

  describe('the grant ledger', () => {
    const about = { parts: ['cli', 'work'], person: 'telegram:1', backend: 'local' };

    async function give(...grants: GrantEntry[]): Promise<void> {
      await rig.store.approvals.ask(beginning(), []);
      await rig.store.approvals.settle('id-1', answered({ kind: 'session', by: 'ada' }, { grants }));
    }

    it('applies a grant only to its session, person and backend', async () => {
      await give(grant(), grant({ id: 'always', scope: 'always' }));
      const ids = async (where: Partial<typeof about>) =>
        (await rig.store.grants.inForce({ ...about, ...where }, at(5))).map(({ id }) => id).sort();
      expect(await ids({})).toEqual(['always', 'grant-1']);
      expect(await ids({ parts: ['other'] })).toEqual(['always']);
      expect(await ids({ person: 'telegram:2' })).toEqual([]);
      expect(await ids({ backend: 'docker' })).toEqual([]);
      expect(await rig.store.grants.inForce({ ...about, person: undefined }, at(5))).toEqual([]);
      expect(await rig.store.grants.find('grant-1')).toStrictEqual(grant());
    });

    it('applies a grant for everyone to all people of its session, and to no other session', async () => {
      const forAll = grant({ id: 'all', person: everyone, question: '' });
      await rig.store.grants.give([forAll, grant({ id: 'wrong', person: everyone, scope: 'always' })], [event('granted')]);
      const ids = async (where: Partial<{ [Key in keyof typeof about]: (typeof about)[Key] | undefined }>) =>
        (await rig.store.grants.inForce({ ...about, person: undefined, ...where } as typeof about, at(5))).map(({ id }) => id);
      expect(await ids({})).toEqual(['all']);
      expect(await ids({ person: 'telegram:2' })).toEqual(['all']);
      expect(await ids({ parts: ['other'] })).toEqual([]);
      expect(await ids({ parts: ['other'], person: 'telegram:2' })).toEqual([]);
      expect(await ids({ backend: 'docker' })).toEqual([]);
      expect(await rig.store.grants.find('all')).toStrictEqual(forAll);
      expect(await outcomes()).toEqual(['granted']);
      expect(await rig.store.grants.endSession(about.parts, at(9), [])).toBe(1);
      expect(await ids({})).toEqual([]);
    });

    it('stores no event without a grant', async () => {
      await rig.store.grants.give([], [event('granted')]);
      expect(await outcomes()).toEqual([]);
    });

    it('lists grants by rule, and those in force at a time', async () => {
      await give(
        grant(),
        grant({ id: 'ends', expiresAt: at(10) }),
        grant({ id: 'other', rule: 'x/y' }),
        grant({ id: 'gone', rule: 'x/y' }),
      );
      await rig.store.grants.revoke('gone', 'eve', at(3), []);
      const ids = async (filter?: GrantFilter) => (await rig.store.grants.list(filter)).map(({ id }) => id).sort();
      expect(await ids()).toEqual(['ends', 'gone', 'grant-1', 'other']);
      expect(await ids({ rule: 'x/y' })).toEqual(['gone', 'other']);
      expect(await ids({ inForceAt: at(9) })).toEqual(['ends', 'grant-1', 'other']);
      expect(await ids({ inForceAt: at(10), rule: 'files/recursive-delete' })).toEqual(['grant-1']);
    });

    it('ends a grant when it expires or is revoked', async () => {
      await give(grant({ expiresAt: at(10) }), grant({ id: 'here', person: undefined }));
      expect(await rig.store.grants.inForce(about, at(9))).toHaveLength(1);
      expect(await rig.store.grants.inForce(about, at(10))).toHaveLength(0);
      expect(await rig.store.grants.revoke('here', 'eve', at(11), [event('revoked')])).toBe(true);
      expect(await rig.store.grants.revoke('here', 'mallory', at(12), [event('revoked')])).toBe(false);
      expect(await rig.store.grants.inForce({ ...about, person: undefined }, at(12))).toEqual([]);
      expect(await rig.store.grants.find('here')).toMatchObject({ revokedBy: 'eve', revokedAt: at(11) });
      expect(await outcomes()).toEqual(['session', 'revoked']);
    });

    it('ends the grants of one session and no others', async () => {
      await give(grant(), grant({ id: 'always', scope: 'always' }), grant({ id: 'other', parts: ['other'] }));
      expect(await rig.store.grants.endSession(['cli', 'work'], at(9), [event('revoked')])).toBe(1);
      expect((await rig.store.grants.list()).filter(({ revokedAt }) => !revokedAt).map(({ id }) => id)).toEqual(['always', 'other']);
    });
  });

  describe('the mode ledger', () => {
    it('keeps yolo mode of a session until it is switched off', async () => {
      const yolo = { by: 'ada', since: at(1) };
      await rig.store.modes.setYolo(['a'], yolo, [event('on')]);
      const again = await rig.open();
      const later = { by: 'bob', since: at(2) };
      await again.modes.setYolo(['a'], later, []);
      expect(await again.modes.yolo(['a'])).toEqual([yolo, later]);
      expect(await again.modes.yolo(['b'])).toEqual([]);
      expect(await again.modes.list()).toEqual([yolo, later].map((one) => ({ parts: ['a'], ...one })));
      await again.modes.setYolo(['a'], undefined, [event('off')]);
      expect(await rig.store.modes.yolo(['a'])).toEqual([]);
      expect(await outcomes()).toEqual(['on', 'off']);
    });
  });

  describe('the audit log', () => {
    it('numbers audit records without a gap and chains them by hash', async () => {
      await rig.store.audit.append([event('one'), event('two')]);
      await (await rig.open()).audit.append([event('three')]);
      const records = await rig.store.audit.list({}, 10);
      expect(records.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      expect(records[0]?.previous).toBe('0'.repeat(64));
      expect(records.slice(1).map(({ previous }) => previous)).toEqual(records.slice(0, 2).map(({ hash }) => hash));
      expect(await rig.store.audit.head()).toEqual({ seq: 3, hash: records[2]?.hash });
    });

    it('lists audit records by filter, from either end', async () => {
      for (const outcome of ['a', 'b', 'c'])
        await rig.store.audit.append([{ ...event(outcome), session: [outcome], at: at(outcome === 'c' ? 9 : 0) }]);
      const listed = async (...list: Parameters<Store['audit']['list']>) =>
        (await rig.store.audit.list(...list)).map(({ outcome }) => outcome);
      expect(await listed({}, 2)).toEqual(['a', 'b']);
      expect(await listed({}, 2, true)).toEqual(['b', 'c']);
      expect(await listed({ after: 1 }, 9)).toEqual(['b', 'c']);
      expect(await listed({ session: ['b'] }, 9)).toEqual(['b']);
      expect(await listed({ since: at(5) }, 9)).toEqual(['c']);
      expect(await listed({ outcome: 'b' }, 9)).toEqual(['b']);
      expect(await listed({ kind: 'grant' }, 9)).toEqual([]);
    });
  });
}
