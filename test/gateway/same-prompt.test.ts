import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { readTranscript } from '../../src/agent/messages.ts';
import { summaryMessage } from '../../src/agent/summary.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { codeIn, Rig } from './rig.ts';

/** What comes before the messages of a conversation, byte by byte: for a provider, the beginning of everything it could keep. */
function beginnings({ model }: Rig): string[] {
  return model.requests.map(({ body: { messages = [], tools } }) => {
    expect(messages[0]?.role).toBe('system');
    return JSON.stringify([messages[0], tools]);
  });
}

describeContained('the system prompt and the tools', async () => {
  const shared = mkdtempSync(join(tmpdir(), 'hermetic-shared-'));
  const rig = await Rig.start({
    environment: { HERMETIC_GATEWAY_SANDBOX_LIFETIME: '1', TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${shared}:/shared`]) },
  });
  afterAll(async () => {
    await rig.close();
    rmSync(shared, { recursive: true });
  });
  const isOpen = () => rig.app.sandboxes.openCount > 0;
  const tells = async (text: string, command: string, answer: string) => {
    rig.model.script = inTurn(calls(['terminal', { command }]), says(answer));
    await rig.say(text, { from: 'bob' });
  };
  const results = (): string[] => rig.model.requests.flatMap(({ last }) => (last.role === 'tool' ? [last.text] : []));

  it('stay the same over a change of directory, a question, an idle close and a restart', async () => {
    await rig.say('hello', { from: 'bob' });
    await rig.shows('Fine.', 'bob');
    await tells('go there', 'cd /tmp && echo there', 'I am there.');
    await rig.shows('I am there.', 'bob');
    await tells('clean up', 'rm -rf /shared/old; echo cleaned', 'I cleaned.');
    await codeIn(rig, 'bob');
    await rig.press('Once', { from: 'bob' });
    await rig.shows('I cleaned.', 'bob');
    await until('the sandbox is closed', () => !isOpen());
    await tells('where are you?', 'pwd', 'Still there.');
    await rig.shows('Still there.', 'bob');
    await rig.stopGateway();
    await rig.startGateway();
    await tells('and now?', 'pwd', 'Yes, still.');
    await rig.shows('Yes, still.', 'bob');
    expect(rig.model.requests).toHaveLength(9);
    expect(new Set(beginnings(rig)).size).toBe(1);
    expect(results()[0]).toBe('there\n[The directory of the session is now "/tmp".]');
    expect(results()[2]).toBe('/tmp\n');
  }, 180_000);

  it('have no character that doubles the memory of each request under way', () => {
    expect(beginnings(rig)[0]).toMatch(/^[\0-\xff]+$/);
  });

  it('the model of a new conversation is told where the session is', async () => {
    await rig.say('/new', { from: 'bob' });
    await rig.shows('new conversation', 'bob');
    await tells('look around', 'echo around', 'I looked around.');
    await rig.shows('I looked around.', 'bob');
    expect(results().at(-1)).toBe('around\n[The directory of the session is now "/tmp".]');
  });

  it('the model is told of a directory that a person has changed', async () => {
    await rig.say('/run cd /var', { from: 'bob' });
    await rig.shows('no output', 'bob');
    await tells('look', 'echo looked', 'I looked.');
    await rig.shows('I looked.', 'bob');
    expect(results().at(-1)).toBe('looked\n[The directory of the session is now "/var".]');
  }, 120_000);

  it('change in the middle of a conversation when the settings do', async () => {
    const before = beginnings(rig).at(-1);
    mkdirSync(join(rig.home, '.hermetic', 'skills'));
    rig.model.script = () => says('I see.');
    await rig.say('look at the skills', { from: 'bob' });
    await rig.shows('I see.', 'bob');
    const after = beginnings(rig).at(-1);
    expect(after).not.toBe(before);
    expect(after).toContain('/opt/hermetic/skills');
  }, 120_000);
});

describe('the day of a conversation', () => {
  afterEach(() => void vi.useRealTimers());

  /** One message on each of these days. Resolves with what the model was told of the day with the last of them. */
  async function talkOn(days: readonly string[], before: (index: number, rig: Rig) => unknown = () => undefined) {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(`${days[0]}T12:00:00`) });
    const rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' } });
    try {
      for (const [index, day] of days.entries()) {
        vi.setSystemTime(new Date(`${day}T12:00:00`));
        await before(index, rig);
        rig.model.script = () => says(`answer ${index}`);
        await rig.say(`question ${index}`);
        await rig.shows(`answer ${index}`);
        await rig.quiet();
      }
      const [prompt, ...messages] = rig.model.requests.at(-1)?.messages ?? [];
      const told = messages.filter(({ role }) => role === 'user').map(({ text }) => /^Today is \w+, (\S+) /.exec(text)?.[1]);
      return {
        began: /This conversation began on \w+, (\S+) /.exec(prompt?.text ?? '')?.[1],
        told,
        prompts: new Set(beginnings(rig)).size,
      };
    } finally {
      await rig.close();
    }
  }

  it('is said in the prompt as it began, and in a message once when it is another', async () => {
    expect(await talkOn(['2026-03-01', '2026-03-02', '2026-03-02'])).toEqual({
      began: '2026-03-01',
      told: [undefined, '2026-03-02', undefined],
      prompts: 1,
    });
  }, 120_000);

  it('is the one of its beginning, and said again when it is another, also after the settings have changed', async () => {
    const days = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-03'];
    const changed = (index: number, { settings }: Rig): void => {
      if (index === 2) settings.agentName = 'Another';
    };
    expect(await talkOn(days, changed)).toEqual({
      began: '2026-03-01',
      told: [undefined, '2026-03-02', '2026-03-03', undefined],
      prompts: 2,
    });
  }, 120_000);

  it('is told by the summary of the message that told it', async () => {
    const days = ['2026-03-01', '2026-03-02', '2026-03-02'];
    const sumUp = async (index: number, { store }: Rig): Promise<void> => {
      if (index !== 2) return;
      const [session] = await store.conversations.list(1);
      const told = await store.conversations.read(session?.parts ?? []);
      const messages = readTranscript(told.map(({ message }) => message));
      const summary = summaryMessage('They said hello.', messages, []);
      await store.conversations.summarise(session?.parts ?? [], told.at(-1)?.seq ?? 0, summary, new Date());
    };
    expect(await talkOn(days, sumUp)).toEqual({ began: '2026-03-01', told: ['2026-03-02', undefined], prompts: 1 });
  }, 120_000);
});
