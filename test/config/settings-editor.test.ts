import { existsSync, readFileSync, rmSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { SettingsEditor } from '../../src/config/settings-editor.ts';
import type { AuditEvent } from '../../src/core/audit.ts';
import { makeHome, type TestHome } from './scratch.ts';

let home: TestHome;
let events: AuditEvent[];
/** What the files were when each event was recorded. */
let before: (string | undefined)[];

beforeEach(() => {
  home = makeHome();
  events = [];
  before = [];
});

const text = (): string | undefined => (existsSync(home.config) ? readFileSync(home.config, 'utf8') : undefined);

function editor(record?: (given: readonly AuditEvent[]) => Promise<void>): SettingsEditor {
  const keep = async (given: readonly AuditEvent[]): Promise<void> => {
    before.push(text());
    events.push(...given);
  };
  const files = { config: home.config, dotenv: home.dotenv };
  return new SettingsEditor({ files, actor: 'shell:ada', record: record ?? keep, redact: (value) => value.replace('hush', '[redacted]') });
}

const outcomes = (): unknown[] => events.map(({ outcome }) => outcome);

it('records a change before it is made, one record for each key', async () => {
  await editor().change({ 'web.port': '8080', 'web.public_url': 'https://hush.example' });
  expect(before).toEqual([undefined]);
  expect(events).toMatchObject([
    { actor: 'shell:ada', kind: 'config', session: [], what: { key: 'web.port', value: '8080' }, outcome: 'set' },
    { what: { key: 'web.public_url', value: 'https://[redacted].example' } },
  ]);
  expect(text()).toContain('8080');
});

it('makes no change that cannot be recorded', async () => {
  home.writeConfig('web:', '  port: 1', 'network:', '  allow: [a.example]');
  home.writeDotenv('KEPT=1\n');
  const [config, dotenv] = [text(), readFileSync(home.dotenv, 'utf8')];
  const deaf = editor(() => Promise.reject(new Error('the disk is full')));
  const changes = [
    () => deaf.change({ 'web.port': '2' }),
    () => deaf.unset('web.port'),
    () => deaf.add('network.allow', 'b.example', () => false),
    () => deaf.take('network.allow', () => true),
    () => deaf.storeSecret('NEW', 'value'),
    () => deaf.bindSecret('KEPT', { changes: { 'secrets.KEPT': '{"hosts":["a.example"]}' }, hosts: ['a.example'] }),
    () => deaf.forgetSecret('KEPT'),
  ];
  for (const change of changes) await expect(change()).rejects.toThrow('the disk is full');
  expect([text(), readFileSync(home.dotenv, 'utf8')]).toEqual([config, dotenv]);
});

it('records nothing of what is refused, or changes nothing', async () => {
  home.writeConfig('web:', '  port: 1', 'network:', '  allow: [a.example]');
  const settings = editor();
  await expect(settings.change({ 'web.port': 'nine' })).rejects.toThrow('web.port');
  await expect(settings.unset('web.prt')).rejects.toThrow('web.prt');
  await expect(settings.storeSecret('BAD', ' ')).rejects.toThrow('blank');
  await expect(settings.forgetSecret('NONE')).rejects.toThrow('no secret of this name');
  expect(await settings.unset('web.host')).toBe(false);
  expect(await settings.add('network.allow', 'a.example', (other) => other === 'a.example')).toBe(false);
  expect(await settings.take('network.allow', () => false)).toEqual([]);
  expect(events).toEqual([]);
});

it('says of a recorded change that it failed when it could not be made', async () => {
  home.writeConfig('web:', '  port: 1');
  const settings = editor(async (given) => {
    events.push(...given);
    rmSync(home.directory, { recursive: true, force: true });
  });
  await expect(settings.change({ 'web.port': '2' })).rejects.toMatchObject({ code: expect.stringMatching(/^config\//) });
  expect(outcomes()).toEqual(['set', 'set: failed']);
});

it('records a removal that reaches the value and not the binding', async () => {
  home.writeDotenv('TOKEN=1\n');
  home.writeConfig('secrets: {TOKEN: {hosts: [a.example]}, : }');
  await expect(editor().forgetSecret('TOKEN')).rejects.toThrow('TOKEN is removed from');
  expect(outcomes()).toEqual(['removed', 'removed: failed']);
  expect(readFileSync(home.dotenv, 'utf8')).not.toContain('TOKEN');
});

it('changes of one editor that come at once follow each other', async () => {
  const settings = editor();
  const same = (entry: string) => (other: string) => other === entry;
  const hosts = Array.from({ length: 10 }, (_, index) => `h${index}.example`);
  await Promise.all(hosts.map((host) => settings.add('network.allow', host, same(host))));
  expect(await settings.take('network.allow', () => true)).toEqual(hosts);
});
