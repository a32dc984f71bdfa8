import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Place } from '../../src/core/channel.ts';
import { bin } from '../bin.ts';
import { ada } from '../fakes/bot-api-world.ts';
import { calls, inTurn, type ModelRequest, says } from '../fakes/model-server.ts';
import { describeContained } from '../gateway/contained.ts';
import { Program, type ProgramOptions } from '../gateway/program.ts';
import { until } from '../until.ts';
import type { ChannelHarness, Shown } from './channel-harness.ts';

/** A platform on this machine, for a program of its own. */
export interface FlowHarness extends ChannelHarness {
  readonly kind: string;
  /** Its section of the configuration, without who may talk. */
  readonly section: Readonly<Record<string, unknown>>;
  /** The variables with its secrets. */
  readonly variables: Readonly<Record<string, string>>;
  /** The ids of the people in the two direct chats. */
  readonly people: { direct: string; otherDirect: string };
  /** What a person does at the platform before a new gateway can be up. `home` is that of the gateway. */
  introduce?(home: string): Promise<void>;
  /** The platform takes the next message that is sent, and the connection breaks before it says so. */
  loseAnswer(): void;
}

export interface FlowTraits {
  /** Answers come by buttons, or by the numbers that the card shows. */
  buttons: boolean;
  /** The platform takes a message once that is sent twice under one key. */
  sendsOncePerKey: boolean;
  /** false: how a question ended is another message, and its card keeps the buttons. */
  edits?: boolean;
  /** What people type before the name of a command. */
  commandSign?: string;
  /** The largest file that the agent can send. */
  fileMebibytes?: number;
}

const never = new Promise<never>(() => undefined);

/** A platform as its users see it: through `hermetic start`, a model and a sandbox. */
export function flowContract(name: string, newHarness: () => Promise<FlowHarness>, traits: FlowTraits): void {
  const { buttons, sendsOncePerKey, edits = true, fileMebibytes = 20, commandSign = '/' } = traits;
  describeContained(`${name} through the gateway`, () => {
    let harness: FlowHarness;
    let program: Program;
    /** On this machine and in the sandboxes, so that deleting in it is asked about. */
    let shared: string;
    beforeEach(async () => {
      harness = await newHarness();
      shared = mkdtempSync(join(tmpdir(), 'hermetic-shared-'));
    });
    afterEach(async () => {
      await program.close();
      await harness.close();
      rmSync(shared, { recursive: true, force: true });
    });

    const start = async (options: ProgramOptions = {}, rules: Record<string, unknown> = {}): Promise<void> => {
      const section = { enabled: true, allowed_users: [harness.people.direct], ...harness.section, ...rules };
      program = await Program.start({
        ...options,
        config: { [harness.kind]: section, terminal: { docker_volumes: [`${shared}:/shared`] }, ...options.config },
        environment: { ...harness.variables, ...options.environment },
      });
      await harness.introduce?.(program.directory);
      await until(`${name} is up`, async () => (await statusOf(program)).includes(`${harness.kind} up`));
    };
    const texts = (place = harness.direct): string[] => harness.shown(place).map(({ text }) => text);
    const shows = async (what: string | RegExp, place = harness.direct): Promise<Shown> => {
      const fits = ({ text }: Shown): boolean => (typeof what === 'string' ? text.includes(what) : what.test(text));
      try {
        return await until(`the chat shows ${what}`, () => harness.shown(place).find(fits));
      } catch (error) {
        throw new Error(`${(error as Error).message}\nshown: ${texts(place).join('\n---\n')}\nlog: ${program.output}`);
      }
    };
    /** Answers the question of a card as a person does. */
    const answer = async (place: Place, choice: 'Once' | 'Deny'): Promise<void> => {
      const card = await shows('May this', place);
      if (buttons) harness.userPresses(place, card.id, card.buttons.find(({ label }) => label === choice)?.data ?? '');
      else {
        const number = /(\d{4})\D{1,4}once.*?(\d{4})\D{1,4}deny/s.exec(card.text)?.[choice === 'Once' ? 1 : 2] ?? '';
        harness.userSays(place, { text: number, repliesTo: card.id });
      }
    };
    const make = (file: string): void => {
      mkdirSync(join(shared, file), { recursive: true });
      // Sandboxes are other users.
      for (const path of ['', file]) chmodSync(join(shared, path), 0o777);
    };
    /** Calls the terminal once in each conversation, and says what came of it. */
    const oneCommand =
      (command: (request: ModelRequest) => string) =>
      (request: ModelRequest): ReturnType<typeof says> =>
        request.last.role === 'tool'
          ? says(`Result: ${request.last.text.slice(0, 400)}`)
          : calls(['terminal', { command: command(request) }]);

    it(`${name}: a message reaches the model, its command waits for a yes, runs in the sandbox, and the answer comes back`, async () => {
      make('old');
      await start({ script: oneCommand(() => 'rm -rf /shared/old && echo "removed in $(hostname)"') });
      harness.userSays(harness.direct, { text: 'please clean up' });
      await shows('May this');
      expect(existsSync(join(shared, 'old'))).toBe(true);
      await answer(harness.direct, 'Once');
      await shows('Result: ');
      expect(existsSync(join(shared, 'old'))).toBe(false);
      expect(texts().join('\n')).toMatch(/removed in/);
      await shows('Allowed once');
      if (buttons && edits)
        await until('the card has no buttons', () => harness.shown(harness.direct).every((one) => one.buttons.length === 0));
    });

    it(`${name}: a no keeps the command from running, and the model is told`, async () => {
      make('old');
      await start({ script: oneCommand(() => 'rm -rf /shared/old') });
      harness.userSays(harness.direct, { text: 'please clean up' });
      await answer(harness.direct, 'Deny');
      await shows(/Result: .*(denied|said no)/is);
      expect(existsSync(join(shared, 'old'))).toBe(true);
    });

    it(`${name}: a stranger gets a pairing code and nothing else, and is let in by it`, async () => {
      await start({ script: () => says('Welcome.') });
      harness.userSays(harness.otherDirect, { text: 'run something' });
      const { text } = await shows('You are not paired with me yet', harness.otherDirect);
      expect(program.model.requests).toEqual([]);
      const code = /approve (\w{8})/.exec(text)?.[1] ?? '';
      await hermetic(program, 'pairing', 'approve', code);
      harness.userSays(harness.otherDirect, { text: 'and now?' });
      await shows('Welcome.', harness.otherDirect);
    });

    it(`${name}: a message accepted before a SIGKILL is answered after it`, async () => {
      await start({ script: () => never });
      harness.userSays(harness.direct, { text: 'hello' });
      await until('the model was asked', () => program.model.requests.length === 1);
      await program.kill();
      program.model.script = () => says('Hello to you.');
      await program.start();
      await shows('Hello to you.');
      harness.userSays(harness.direct, { text: 'and now?' });
      await until('both are answered', () => texts().filter((text) => text.includes('Hello to you.')).length === 2);
      expect(texts().filter((text) => text.includes('Hello to you.'))).toHaveLength(2);
    });

    it(`${name}: an answer that was sent when the gateway was killed ${sendsOncePerKey ? 'is not sent twice' : 'is marked when it is sent again'}`, async () => {
      await start({ script: () => says('Here it is.') });
      // The platform has it, and nobody says so.
      harness.loseAnswer();
      harness.userSays(harness.direct, { text: 'give it to me' });
      await shows('Here it is.');
      await program.kill();
      await program.start();
      harness.userSays(harness.direct, { text: 'more' });
      await until(
        'the next one is answered',
        () => texts().filter((text) => text.includes('Here it is.')).length >= (sendsOncePerKey ? 2 : 3),
      );
      const all = texts().filter((text) => text.includes('Here it is.'));
      if (sendsOncePerKey) expect(all).toHaveLength(2);
      else expect(all.filter((text) => text.includes('possible repeat')).length).toBe(all.length - 2);
    });

    it(`${name} and Telegram: two people at once have sandboxes, files and approvals of their own`, async () => {
      make('theirs');
      const secretOf = (request: ModelRequest): string =>
        request.messages.some(({ text }) => text.includes('telegram-secret')) ? 'telegram' : harness.kind;
      await start({
        script: oneCommand((request) => {
          const own = secretOf(request);
          return `echo ${own}-secret > mine; sleep 0.3; cat mine; ls -A; rm -rf /shared/theirs/${own}`;
        }),
      });
      make('theirs/telegram');
      make(`theirs/${harness.kind}`);
      harness.userSays(harness.direct, {
        text: `keep ${harness.kind}-secret`,
        file: { name: 'picture.png', data: Buffer.from('for my eyes') },
      });
      program.api.world.says({ text: 'keep telegram-secret', from: ada });
      const theirs = await program.shows('May this', ada.id);
      const ours = await shows('May this');
      expect(ours.text).toContain(`${harness.kind}-secret`);
      expect(ours.text).not.toContain('telegram-secret');
      expect(theirs.text).not.toContain(`${harness.kind}-secret`);
      // The code of the other question is good for nothing here: this person is no approver of it.
      const code = /\((\w{6})\)/.exec(theirs.text)?.[1] ?? '';
      harness.userSays(harness.direct, { text: `/approve ${code}` });
      await shows('You may not answer this question.');
      expect(existsSync(join(shared, 'theirs/telegram'))).toBe(true);
      await answer(harness.direct, 'Once');
      await shows('Result: ');
      expect(existsSync(join(shared, 'theirs/telegram'))).toBe(true);
      program.api.world.presses(ada.id, theirs.id, 'Once');
      await program.shows('Result: ', ada.id);
      const here = texts().join('\n');
      const there = program.texts(ada.id).join('\n');
      expect(here).not.toContain('telegram-secret');
      expect(there).not.toContain(`${harness.kind}-secret`);
      expect(there).not.toContain('picture.png');
    });

    it(`${name}: the agent is told that a file is too large, with the limit, and the largest file arrives`, async () => {
      const largest = fileMebibytes * 1024 * 1024;
      await start({
        script: inTurn(
          calls(['terminal', { command: `truncate -s ${largest + 1} larger.bin; truncate -s ${largest} largest.bin` }]),
          calls(['send_file', { path: 'larger.bin' }]),
          calls(['send_file', { path: 'largest.bin' }]),
          says('Done.'),
        ),
      });
      harness.userSays(harness.direct, { text: 'send me the files' });
      await shows('Done.');
      const results = program.model.requests.flatMap(({ messages }) => messages.filter(({ role }) => role === 'tool').slice(-1));
      expect(results.map(({ text }) => text).join('\n')).toContain(`it is larger than ${fileMebibytes} MiB, the most this chat takes`);
      const files = () => harness.shown(harness.direct).flatMap(({ file }) => (file ? [`${file.name} ${file.data.length}`] : []));
      await until('the file is there', () => files().length > 0);
      expect(files()).toEqual([`largest.bin ${largest}`]);
    });

    it(`${name}: hermetic status says that it is up, and why it is down`, async () => {
      await start();
      await harness.goDown();
      await until('it is down', async () => new RegExp(`${harness.kind} down \\(.`).test(await statusOf(program)));
      // Beside it Telegram goes on.
      program.api.world.says({ text: 'still there?', from: ada });
      await program.shows('Fine.', ada.id);
      await harness.comeUp();
      await until('it is up again', async () => (await statusOf(program)).includes(`${harness.kind} up`));
      harness.userSays(harness.direct, { text: 'back?' });
      await shows('Fine.');
      // Commands are named as people type them there.
      harness.userSays(harness.direct, { text: `${commandSign}help` });
      await shows(`${commandSign}run COMMAND`);
    });
  });
}

async function statusOf(program: Program): Promise<string> {
  const { gateway } = JSON.parse(await hermetic(program, 'status', '--json')) as {
    gateway?: { channels: { kind: string; state: string; reason?: string }[] };
  };
  return (gateway?.channels ?? []).map(({ kind, state, reason }) => `${kind} ${state}${reason ? ` (${reason})` : ''}`).join(', ');
}

async function hermetic(program: Program, ...args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: program.home, HERMETIC_HOME: program.directory };
  return (await promisify(execFile)(process.execPath, [bin, ...args], { env })).stdout;
}
