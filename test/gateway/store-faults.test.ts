import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HermeticError } from '../../src/core/errors.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Rig } from './rig.ts';

describe('a database that takes nothing for a while', () => {
  let rig: Rig;
  afterEach(async () => {
    vi.restoreAllMocks();
    await rig.close();
  });
  const fault = () => new HermeticError('store/failed', 'The database cannot be written.');

  it('answers a message that was stored before, without another message', async () => {
    rig = await Rig.start();
    vi.spyOn(rig.store.inbox, 'begin').mockRejectedValueOnce(fault()).mockRejectedValueOnce(fault());
    await rig.say('hello');
    await rig.shows('Fine.');
    expect(rig.log.filter((line) => line.includes('cannot be written'))).toHaveLength(1);
  });

  it('counts a press that was stored before, without another press, and tells of one that was not stored', async () => {
    rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' } });
    const marker = join(rig.home, 'marker');
    rig.model.script = inTurn(calls(['terminal', { command: `rm -rf ${rig.home}/nothing; touch ${marker}` }]), says('It is over.'));
    await rig.say('work');
    await until('it is asked', () => rig.platform.messages.some(({ buttons }) => buttons?.length));
    const accept = vi.spyOn(rig.store.inbox, 'accept').mockRejectedValue(fault());
    for (const _ of [1, 2]) await expect(rig.press('Once')).rejects.toMatchObject({ code: 'store/failed' });
    expect(rig.noticed.map(({ text }) => text)).toEqual(Array(2).fill(expect.stringContaining('not stored yet')));
    expect(existsSync(marker)).toBe(false);
    accept.mockRestore();
    vi.spyOn(rig.store.inbox, 'trying').mockRejectedValueOnce(fault());
    await rig.press('Once');
    await until('it ran', () => existsSync(marker));
  });
});
