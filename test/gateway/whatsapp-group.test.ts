import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { whatsappFlowHarness } from '../channels/whatsapp/harness.ts';
import { calls, says } from '../fakes/model-server.ts';
import { group } from '../fakes/whatsapp/server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

describeContained('a group of WhatsApp through the gateway', () => {
  let harness: Awaited<ReturnType<typeof whatsappFlowHarness>>;
  let program: Program;
  let shared: string;
  beforeEach(async () => {
    harness = await whatsappFlowHarness();
    shared = mkdtempSync(join(tmpdir(), 'hermetic-shared-'));
    mkdirSync(join(shared, 'old'));
    // Sandboxes are other users.
    for (const path of [shared, join(shared, 'old')]) chmodSync(path, 0o777);
    program = await Program.start({
      config: {
        whatsapp: { enabled: true, allowed_users: [harness.people.direct], ...harness.section },
        terminal: { docker_volumes: [`${shared}:/shared`] },
      },
      script: ({ last }) => (last.role === 'tool' ? says(`Result: ${last.text}`) : calls(['terminal', { command: 'rm -rf /shared/old' }])),
    });
    await harness.introduce?.(program.directory);
  });
  afterEach(async () => {
    await program.close();
    await harness.close();
    rmSync(shared, { recursive: true, force: true });
  });

  const shows = async (what: RegExp) =>
    await until(`the group shows ${what}`, () => harness.shown(harness.group).find(({ text }) => what.test(text)));

  it("an approver's 👍 on a member's message with the id of the card is no answer, and a 👎 on the card is one", async () => {
    const { server } = harness;
    harness.userSays(harness.group, { text: 'please clean up', mentionsUs: true });
    const card = await shows(/May this/);
    server.says(server.bob, card.id, { conversation: 'Pizza at 12? 👍' }, { chat: group });
    harness.reacts(harness.group, server.bob, card.id, '👍');
    harness.reacts(harness.group, server.phone, card.id, '👎');
    await shows(/Result: /);
    expect(existsSync(join(shared, 'old'))).toBe(true);
  });

  it('an approver who reacts to the card with 👍 answers it', async () => {
    harness.userSays(harness.group, { text: 'please clean up', mentionsUs: true });
    const card = await shows(/May this/);
    harness.reacts(harness.group, harness.server.phone, card.id, '👍');
    await shows(/Result: /);
    expect(existsSync(join(shared, 'old'))).toBe(false);
  });
});
