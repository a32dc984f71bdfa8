import { expect, it } from 'vitest';
import { questionText } from '../../src/approval/question-text.ts';
import { unlistedHost } from '../../src/approval/unlisted-hosts.ts';
import type { Question } from '../../src/core/approval.ts';
import { cardFor } from '../../src/gateway/questions/question-card.ts';
import { FakePlatform, fakeChannel } from './fake-channel.ts';

it('names every host in whole in a card whose command is too long for a message', () => {
  const last = `api.github.com.${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.evil.example`;
  const connections = [...Array.from({ length: 7 }, (_, index) => `host-${index}.example`), last].map((host) => ({
    ...{ host, port: 443, program: 'curl' },
  }));
  const question: Question = {
    ...{ id: 'id', code: 'BCD234', session: 'work', sandbox: 'abc', backend: 'docker', askedAt: new Date(), expiresAt: new Date() },
    actions: [{ kind: 'connect', connections, command: 'true\n'.repeat(5_000), cwd: '/work' }],
    findings: connections.map(unlistedHost),
  };
  const [text, { file }] = cardFor(question, questionText(question), '', fakeChannel(new FakePlatform(), { maxTextLength: 4_096 }).traits);
  expect(file?.name).toBe('question-BCD234.txt');
  expect(text).toContain('May this connect? The full text is in the file.');
  for (const { host } of connections) expect(text).toContain(`\`${host}:443\``);
});
