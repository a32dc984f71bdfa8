import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { addToList, takeFromList } from '../../src/config/edit.ts';
import { loadConfig } from '../../src/config/load.ts';
import { itNeeding } from '../needs.ts';
import { errorOf, makeHome, type TestHome } from './scratch.ts';

let home: TestHome;

beforeEach(() => {
  home = makeHome();
});

const text = () => readFileSync(home.config, 'utf8');
const allowed = () => loadConfig({ environment: home.environment }).config.network.allow;
const add = (entry: string) => addToList(home.config, 'network.allow', entry, (other) => other === entry);
const take = (...entries: string[]) => takeFromList(home.config, 'network.allow', (one) => entries.includes(one));

const commented = `# Ours
network: # what sandboxes reach
  # agreed with security
  allow: # reviewed
    - a.example   # first
    # the wiki
    - "*.b.example"
    - c.example:8443 # last
  # end
  log: all
`;

describe('an entry of a list in config.yaml', () => {
  test('is added at its end, and not one other byte changes', () => {
    writeFileSync(home.config, commented);
    expect(add('d.example')).toBe(true);
    expect(text()).toBe(commented.replace('# last\n', '# last\n    - d.example\n'));
    expect(allowed()).toEqual(['a.example', '*.b.example', 'c.example:8443', 'd.example']);
    const once = text();
    expect(add('d.example')).toBe(false);
    expect(text()).toBe(once);
  });

  test.each(['a.example', '*.b.example', 'c.example:8443'])('is taken out with its own line alone: %s', (entry) => {
    writeFileSync(home.config, commented);
    const line = commented.split('\n').find((one) => one.includes('- ') && one.includes(entry));
    expect(take(entry)).toEqual([entry]);
    expect(text()).toBe(commented.replace(`${line}\n`, ''));
  });

  test('is taken out with others, and all of them leave an empty list and the comments', () => {
    writeFileSync(home.config, commented);
    expect(take('c.example:8443', 'a.example')).toEqual(['a.example', 'c.example:8443']);
    expect(allowed()).toEqual(['*.b.example']);
    expect(take('*.b.example')).toEqual(['*.b.example']);
    expect(allowed()).toEqual([]);
    for (const comment of ['# Ours', '# what sandboxes reach', '# agreed with security', '# reviewed', '# end'])
      expect(text()).toContain(comment);
    expect(add('*.z.example')).toBe(true);
    expect(allowed()).toEqual(['*.z.example']);
  });

  test.each([
    ['', 'network:\n  allow: [n.example]\n'],
    ['web:\n  port: 1', 'web:\n  port: 1\nnetwork:\n  allow: [n.example]\n'],
    ['network:\n', 'network:\n  allow: [n.example]\n'],
    ['network:\n  allow:\n', 'network:\n  allow: [n.example]\n'],
    ['network:\n  allow: []\n', 'network:\n  allow: [n.example]\n'],
    ['network:\n  allow: [a.example] # x\n', 'network:\n  allow: [a.example, n.example] # x\n'],
    ['network:\n  allow: [\n    a.example,\n  ]\n', 'network:\n  allow: [\n    a.example, n.example,\n  ]\n'],
    ['network: {allow: [a.example]}\n', 'network: {allow: [a.example, n.example]}\n'],
    ['network:\n  allow:\n  - a.example', 'network:\n  allow:\n  - a.example\n  - n.example\n'],
    ['network:\r\n  allow:\r\n    - a.example # x\r\n', 'network:\r\n  allow:\r\n    - a.example # x\r\n    - n.example\r\n'],
  ])('is added to %j', (before, after) => {
    writeFileSync(home.config, before);
    expect(add('n.example')).toBe(true);
    expect(text()).toBe(after);
    expect(take('n.example')).toEqual(['n.example']);
    expect(allowed()).not.toContain('n.example');
  });

  test('makes the file when there is none, and takes nothing out of one that is not there', () => {
    expect(take('a.example')).toEqual([]);
    expect(existsSync(home.config)).toBe(false);
    expect(add('a.example')).toBe(true);
    expect(allowed()).toEqual(['a.example']);
  });

  test.each([
    ['an anchor that other keys use', 'network:\n  allow: &hosts\n    - a.example\n  deny: *hosts\n'],
    ['text in place of a list', 'network:\n  allow: a.example\n'],
    ['broken YAML', 'network:\n  allow: [\n'],
    ['an entry that is not valid', 'network:\n  allow: ["https://a.example"]\n'],
  ])('is not added where the file has %s', (_, before) => {
    writeFileSync(home.config, before);
    expect(errorOf(() => add('n.example')).code).toMatch(/^config\//);
    expect(text()).toBe(before);
  });

  test('is refused when it is not valid for its key, or the key is none', () => {
    writeFileSync(home.config, commented);
    expect(errorOf(() => add('https://n.example')).message).toContain('network.allow');
    expect(errorOf(() => addToList(home.config, 'network.alow', 'x', () => false)).code).toBe('config/unknown-key');
    expect(text()).toBe(commented);
  });

  itNeeding(['ordinary-user'], 'is not added to a file that cannot be written', () => {
    writeFileSync(home.config, commented);
    chmodSync(home.directory, 0o500);
    expect(errorOf(() => add('n.example')).message).toContain('was not changed');
    chmodSync(home.directory, 0o700);
  });
});
