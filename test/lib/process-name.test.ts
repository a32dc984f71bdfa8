import { execFileSync, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { isProcessName, lifeOf, livePid, processName } from '../../src/lib/process-name.ts';
import { itNeeding } from '../needs.ts';

const inOther = (...args: string[]) => ['--pid', '--fork', ...args];
const source = JSON.stringify(new URL('../../src/lib/process-name.ts', import.meta.url).href);

/** What another process makes of a name, and the name it gives itself. */
function elsewhere(name: string, ...args: string[]): { life: string; pid: number | null; own: string } {
  const script = `
    import { lifeOf, livePid, processName } from ${source};
    const name = process.argv[1];
    console.log(JSON.stringify({ life: lifeOf(name), pid: livePid(name) ?? null, own: processName() }));`;
  const node = [process.execPath, '--input-type=module', '-e', script, name];
  const [program = '', ...rest] = args.length > 0 ? ['unshare', ...inOther(...args), ...node] : node;
  return JSON.parse(execFileSync(program, rest, { encoding: 'utf8' }));
}

it('tells a living process from one that has ended', () => {
  const name = processName();
  expect(isProcessName(name)).toBe(true);
  expect([lifeOf(name), livePid(name)]).toEqual(['alive', process.pid]);
  expect(elsewhere(name)).toMatchObject({ life: 'alive', pid: process.pid });
  const ended = processName(spawnSync(process.execPath, ['-e', '']).pid);
  expect([lifeOf(ended), livePid(ended)]).toEqual(['dead', undefined]);
});

it('takes a process that has the number of an earlier one for dead', () => {
  const [kernel, namespace, pid] = processName().split('-');
  expect(lifeOf(`${kernel}-${namespace}-${pid}-1-00000000`)).toBe('dead');
});

it('knows nothing about a process of another machine, of another namespace, or of something that is no name', () => {
  const [kernel, namespace, ...rest] = processName().split('-');
  for (const name of [['0badcafe', namespace, ...rest].join('-'), [kernel, '1', ...rest].join('-'), '', '1-2-3', 'control']) {
    expect([lifeOf(name), livePid(name)]).toEqual(['unknown', undefined]);
  }
});

itNeeding(['processes'], 'knows nothing about a process across namespaces, in either direction', () => {
  const name = processName();
  const { life, pid, own } = elsewhere(name, '--mount-proc');
  expect([life, pid]).toEqual(['unknown', null]);
  expect(isProcessName(own)).toBe(true);
  expect(lifeOf(own)).toBe('unknown');
});

itNeeding(['processes'], 'knows nothing where /proc shows the processes of another namespace', () => {
  const { life, own } = elsewhere(processName());
  expect([life, lifeOf(own)]).toEqual(['alive', 'dead']);
  const blind = elsewhere(processName(), '--mount');
  expect([blind.life, lifeOf(blind.own), elsewhere(blind.own, '--mount').life]).toEqual(['unknown', 'unknown', 'unknown']);
});
