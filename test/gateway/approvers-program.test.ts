import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { protocolVersion, terminalSocket } from '../../src/channels/terminal/protocol.ts';
import { Wire } from '../../src/channels/terminal/wire.ts';
import { connectToOwner } from '../../src/lib/owner-socket.ts';
import { ada, bob } from '../fakes/bot-api-world.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';

describe('approvers on Telegram and on the page', { timeout: 90_000 }, () => {
  let program: Program;
  const opened: number[] = [];
  afterEach(async () => {
    for (const descriptor of opened.splice(0)) closeSync(descriptor);
    await program.close();
  });
  const start = async () => {
    program = await Program.start({ backend: 'local', config: { approvals: { approvers: ['admins'] } } });
  };
  const ran = () => existsSync(join(program.home, 'marker'));
  const asks = () => program.api.world.says({ text: `/run rm -rf ${program.home}/nothing; echo ran >> ${program.home}/marker`, from: bob });
  const page = async (path: string, body?: unknown) => {
    const token = readFileSync(join(program.directory, 'web-token'), 'utf8').trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(new URL(path, program.link), {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.ok).toBe(true);
    return await answer.json();
  };

  it('asks approvers in their chat with the bot, once they have begun one', async () => {
    await start();
    asks();
    await program.shows('No approver can be reached, so this was not run.', bob.id);
    expect(ran()).toBe(false);
    // A chat with the bot, in which the bot has heard nothing yet.
    program.api.world.privateChat(ada);
    asks();
    await program.shows(/^Asked \S+ to approve this\.$/, bob.id);
    const card = await program.shows('Bob (telegram:1002) asks in a direct chat on telegram:', ada.id);
    program.api.world.presses(ada.id, card.id, 'Once');
    await until('it ran', ran);
    await until('the buttons are gone', () => program.sent(ada.id).every(({ markup }) => !markup));
    await program.shows('Allowed once by telegram:1001.', ada.id);
    await program.shows(/Asked[\s\S]*Allowed once/, bob.id);
  });

  const atTerminal = async (isLive: boolean) => {
    const shown: string[] = [];
    const handle = (name: string, value: unknown): unknown => {
      if (name !== 'identify') return void shown.push(JSON.stringify(value));
      opened.push(openSync(String(value), 'r'));
      return process.pid;
    };
    const terminal = new Wire(await connectToOwner(terminalSocket(program.directory)), { handle, onEnd: () => undefined });
    expect(await terminal.call('hello', { version: protocolVersion, chat: 'default', name: 'Ada', isLive })).toEqual({ ok: true });
    return { terminal, shown };
  };

  it('asks approvers at a terminal only while they are there', async () => {
    await start();
    const { terminal, shown } = await atTerminal(true);
    await terminal.call('message', { id: 'typed-1', text: '/whoami', files: [] });
    await until('it is answered', () => shown.some((text) => text.includes('Your role')));
    asks();
    await until('there is a card', () => shown.some((text) => text.includes('May this run')));
    await terminal.call('message', { id: 'typed-2', text: `/deny ${/May this run .*?\((\w{6})\)/.exec(shown.join())?.[1]}`, files: [] });
    await program.shows('said no', bob.id);
    terminal.close();
    asks();
    await program.shows('No approver can be reached, so this was not run.', bob.id);
    expect(ran()).toBe(false);
  });

  it('asks no approver in a pipe, whose next line would be the answer', async () => {
    await start();
    const { terminal, shown } = await atTerminal(false);
    await terminal.call('message', { id: 'typed-1', text: '/whoami', files: [] });
    await until('it is answered', () => shown.some((text) => text.includes('Your role')));
    asks();
    await program.shows('No approver can be reached, so this was not run.', bob.id);
    expect(shown.join()).not.toContain('May this run');
    terminal.close();
  });

  it("an approver's answer on the page settles the card on Telegram too", async () => {
    await start();
    program.api.world.privateChat(ada);
    const { id: chat } = (await page('/api/chats', {})) as { id: string };
    await page(`/api/chats/${chat}/messages`, { id: 'message-1', text: '/whoami' });
    type Shown = { id: string; text: string; buttons: { label: string; data: string }[][] };
    const shown = async () => ((await page(`/api/chats/${chat}/messages`)) as { messages: Shown[] }).messages;
    await until('it was answered', async () => (await shown()).length >= 2);
    asks();
    await program.shows(/^Asked .* and .* to approve this\.$/, bob.id);
    await program.shows('May this run', ada.id);
    const card = await until('the page has a card', async () => (await shown()).find(({ buttons }) => buttons.length > 0));
    expect(card.text).toContain('Bob (telegram:1002) asks');
    const button = card.buttons.flat().find(({ label }) => label === 'Once');
    await page(`/api/chats/${chat}/press`, { id: 'press-001', message: card.id, data: button?.data });
    await until('it ran', ran);
    await program.shows(/May this run[\s\S]*Allowed once by web:owner\./, ada.id);
    expect(program.sent(ada.id).every(({ markup }) => !markup)).toBe(true);
    await until('the page has no button', async () => (await shown()).every(({ buttons }) => buttons.length === 0));
  });
});
