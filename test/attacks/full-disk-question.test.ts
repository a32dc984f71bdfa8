import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { ada } from '../fakes/bot-api-world.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { fillDisk, freeDisk, mountDisk, unmountDisk } from '../full-disk.ts';
import { Program } from '../gateway/program.ts';
import { describeNeeding } from '../needs.ts';
import { until } from '../until.ts';

const noSpace = /^Your answer is not stored yet.*takes no writes, as when its disk is full\.$/;

describeNeeding(['mount'], 'a question that is open while the disk is full', () => {
  let program: Program;
  afterEach(async () => {
    await program.kill();
    unmountDisk(program.home);
    await program.close();
  });
  const marker = (): string => join(program.home, 'marker');

  /** Resolves with the card of an open question. */
  async function asked() {
    program = await Program.start({ backend: 'local', prepare: mountDisk });
    const command = `rm -rf ${program.home}/nothing; echo ran >> ${marker()}`;
    program.model.script = inTurn(calls(['terminal', { command }]), says('The turn is over.'));
    program.api.world.says({ text: 'work' });
    const card = await program.shows('May this run');
    await program.told();
    return card;
  }

  /** Resolves when the person was told what became of the press. */
  async function presses(card: { id: number }, label: string): Promise<string> {
    const press = program.api.world.presses(ada.id, card.id, label);
    const told = await until('the person is told', () => program.api.world.noticed.find(({ id }) => id === press));
    return told.text ?? '';
  }

  const toolResult = (): string => program.model.requests.at(-1)?.last.text ?? '';

  it('runs nothing after a yes that cannot be stored, says why, and takes the yes once there is room', async () => {
    const card = await asked();
    fillDisk(program.home);
    expect(await presses(card, 'Once')).toMatch(noSpace);
    expect([existsSync(marker()), program.api.unconfirmed.length]).toEqual([false, 1]);
    freeDisk(program.home);
    await program.shows('The turn is over.');
    await program.shows('Allowed once by');
    await program.told();
    expect(readFileSync(marker(), 'utf8')).toBe('ran\n');
    expect(program.output).not.toMatch(/^\s+at /m);
  });

  it('runs nothing after a no that cannot be stored, says why, and takes the no once there is room', async () => {
    const card = await asked();
    fillDisk(program.home);
    expect(await presses(card, 'Deny')).toMatch(noSpace);
    freeDisk(program.home);
    await program.shows('The turn is over.');
    await program.shows('Denied by');
    expect(toolResult()).toMatch(/denied|said no/i);
    expect(existsSync(marker())).toBe(false);
  });

  it('forgets no question when it is killed on a full disk, and takes the answer after the next start', async () => {
    const card = await asked();
    fillDisk(program.home);
    expect(await presses(card, 'Once')).toMatch(noSpace);
    await program.kill();
    freeDisk(program.home);
    expect(existsSync(marker())).toBe(false);
    await program.start();
    await program.shows('The turn is over.');
    expect(readFileSync(marker(), 'utf8')).toBe('ran\n');
  });
});
