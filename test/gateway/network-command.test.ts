import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { giveHosts } from '../../src/approval/host-grants.ts';
import { unlistedHost } from '../../src/approval/unlisted-hosts.ts';
import { sessionId } from '../../src/core/session.ts';
import { networkLines } from '../../src/gateway/commands/network-lines.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

const bound = { hosts: ['api.example.net'] };

describeContained('/network', async () => {
  const rig = await Rig.start({
    environment: {
      TERMINAL_NETWORK: 'restricted',
      HERMETIC_NETWORK_ALLOW: '["docs.example.org"]',
      HERMETIC_NETWORK_DENY: '["never.example.org"]',
      HERMETIC_SECRETS: JSON.stringify({ MY_TOKEN: bound }),
      MY_TOKEN: 'hunter2-hunter2',
    },
  });
  afterAll(() => rig.close());
  let count = 0;
  let chat = '';
  beforeEach(() => {
    chat = `room-${++count}`;
  });
  const say = async (text: string, from = 'ada', isDirect = true): Promise<string> => {
    const before = rig.texts(chat).length;
    await rig.say(text, { from, chat, isDirect, isAddressed: true });
    await rig.quiet();
    return rig.texts(chat).slice(before).join('\n');
  };
  const partsOf = (user: string) => sessionId({ platform: 'fake', workspace: undefined, chat, thread: undefined, user }).parts;
  const at = new Date();

  const ask = async (user: string, ...hosts: string[]): Promise<string> => {
    const questions = await rig.app.approvals.questions();
    const destinations = hosts.map((host) => ({ host, port: 443, program: 'curl' }));
    const request = {
      ...{
        actions: [{ kind: 'connect' as const, connections: destinations, command: 'curl', cwd: '/' }],
        findings: destinations.map(unlistedHost),
      },
      ...{ parts: partsOf(user), session: `fake ${user}`, run: `run-${count}-${hosts.join()}`, sandbox: 'box', backend: 'bubblewrap' },
      ...{ source: 'chat' as const, person: `fake:${user}` },
    };
    const controller = new AbortController();
    void questions.ask(request, { approver: undefined, answerer: undefined, timeoutMs: 60_000, resume: false }, controller.signal);
    const found = await until('the question is asked', async () => (await questions.open()).find(({ run }) => run === request.run));
    return found.code;
  };
  const giveEveryone = (user: string, host: string) =>
    giveHosts(rig.store.grants, {
      ...{ destinations: [{ host, port: 443 }], session: { parts: partsOf(user), title: user }, backend: 'bubblewrap' },
      ...{ by: 'root', from: 'shell', at, expiresAt: undefined },
    });

  it('says what the session reaches, with secrets by name and never their value', async () => {
    const shown = await say('/network', 'bob');
    expect(shown).toContain('- Network: restricted. Allowed: package registries, git hosts, `docs.example.org`, `api.example.net:443`.');
    expect(shown).toContain('- Secret `MY_TOKEN`: a placeholder, for `api.example.net:443`');
    expect(shown).not.toContain('hunter2');
    expect(shown).not.toContain('never.example.org');
    expect(shown).not.toContain('hermetic network');
    expect(await say('/network')).toContain('`hermetic network allow`');
    expect(rig.model.requests).toHaveLength(0);
  });

  it('shows pending questions about hosts, and the grants that the answers give', async () => {
    const code = await ask('bob', 'wiki.example', 'cdn.example');
    expect(await say('/network', 'bob')).toContain(
      `- Pending question \`${code}\`: \`cdn.example:443\`. Answer with /approve ${code} or /deny ${code}.`,
    );
    await say(`/approve ${code} session`, 'bob');
    const shown = await say('/network', 'bob');
    expect(shown).not.toContain('Pending');
    expect(shown).toContain('- Allowed by `fake:bob`: `wiki.example:443` in this session, for `fake:bob`');
  });

  it('shows neither grants of other sessions nor those of other people', async () => {
    const code = await ask('bob', 'private.example');
    await say(`/approve ${code} always`, 'bob');
    const elsewhere = await ask('bob', 'elsewhere.example');
    await say(`/approve ${elsewhere} session`, 'bob');
    chat = `${chat}-other`;
    const other = await say('/network', 'bob');
    expect(other).toContain('`private.example:443` in all sessions');
    expect(other).not.toContain('elsewhere.example');
    expect(await say('/network', 'cleo')).not.toContain('private.example');
    expect(await say('/network', 'ada')).not.toContain('private.example');
    const inGroup = await say('/network', 'bob', false);
    expect(inGroup).not.toContain('private.example');
    expect(inGroup).toMatch(/\d+ more that you allowed in other sessions/);
  });

  it('forget takes back grants of the person, on one port or all, and writes that down', async () => {
    await say(`/approve ${await ask('bob', 'gone.example')} always`, 'bob');
    expect(await say('/network forget gone.example:80', 'bob')).toContain('There is no answer about this host that you can take back.');
    expect(await say('/network forget GONE.example', 'bob')).toBe(
      'Took back: `gone.example:443`. The next connection to it is asked about.',
    );
    expect(await say('/network', 'bob')).not.toContain('gone.example');
    const [record] = await rig.store.audit.list({ kind: 'grant', outcome: 'revoked' }, 1, true);
    expect(record).toMatchObject({ actor: 'fake:bob', what: { program: 'gone.example:443' } });
  });

  it('forget leaves grants for everyone to admins, and those of others alone', async () => {
    await giveEveryone('bob', 'all.example');
    expect(await say('/network', 'bob')).toContain('- Allowed by `root`: `all.example:443` in this session, for everyone');
    expect(await say('/network forget all.example', 'bob')).toContain('that you can take back');
    await giveEveryone('ada', 'all.example');
    expect(await say('/network forget all.example')).toContain('Took back: `all.example:443`');
    expect(await say('/network', 'bob')).toContain('all.example');
    await say(`/approve ${await ask('bob', 'bobs.example')} always`, 'bob');
    expect(await say('/network forget bobs.example')).toContain('that you can take back');
    expect(await say('/network', 'bob')).toContain('bobs.example');
  });

  it.each(['/network fly', '/network forget', '/network forget a b', '/network allow x.example'])('%s gets the usage', async (text) => {
    expect(await say(text, 'bob')).toBe('Usage: /network [forget HOST[:PORT]]');
  });

  it.each(['https://a.example', '*.example.org', '127.0.0.1', 'a`b'])('forget of %s gets the usage', async (host) => {
    expect(await say(`/network forget ${host}`, 'bob')).toBe('Usage: /network forget HOST[:PORT]');
  });
});

describe('the lines of /network', () => {
  const facts = { backend: 'bubblewrap', isolation: 'process', persistent: true, image: undefined } as const;
  const about = { grants: [], questions: [], isAdmin: true, isDirect: true, parts: [] };

  it('name a network that is open, missing or unknown', () => {
    expect(networkLines({ ...about, facts: { ...facts, network: 'open' } })).toEqual([expect.stringContaining('Network: open.')]);
    expect(networkLines({ ...about, facts: { ...facts, network: 'none', networkObstacle: 'no slirp4netns' } })).toEqual([
      'Network: none (no slirp4netns).',
    ]);
    expect(networkLines({ ...about, facts: undefined })).toEqual([expect.stringContaining('No sandbox backend works here')]);
  });

  it.each([
    [true, 'Others are asked about.'],
    [false, 'Others are blocked.'],
  ])('say what becomes of other hosts where asking is %s', (networkAsks, sentence) => {
    const [line] = networkLines({ ...about, facts: { ...facts, network: 'restricted', networkHosts: [], networkAsks } });
    expect(line).toContain(sentence);
  });

  it('keep text of others inside its code', () => {
    const [line] = networkLines({ ...about, facts: { ...facts, network: 'restricted', networkHosts: ['a`[x](y)\u202e'] } });
    expect(line).toContain("`a'[x](y)`");
  });
});
