import { chmodSync, chownSync, lchownSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { changeKeys } from '../../src/config/edit.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { checkConfig, type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import { saveSecret } from '../../src/config/secrets-file.ts';
import { describeNeeding } from '../needs.ts';
import { errorOf, makeHome, makeScratch, type TestHome } from './scratch.ts';

let home: TestHome;
beforeEach(() => {
  home = makeHome();
  home.writeConfig('terminal:', '  backend: docker');
  home.writeDotenv('A_TOKEN=1\n');
});

const load = () => loadConfig({ environment: home.environment });
/** A user of every Debian system, and one that no system has. */
const [daemon, unnamed] = [1, 54_321];

/** Only root can give files away. */
describeNeeding(['root'], 'files of another user', () => {
  it.each([
    ['the home', () => home.directory],
    ['config.yaml', () => home.config],
    ['.env', () => home.dotenv],
    ['the directory above the home', () => home.userHome],
  ])("%s of another user is refused with the owner's name and a command that helps", (_, path) => {
    chownSync(path(), daemon, daemon);
    const error = errorOf(load);
    expect(error.code).toBe('config/unreadable');
    expect(error.message).toContain(path());
    expect(error.message).toContain('belongs to daemon (uid 1); only root may own it.');
    expect(error.hint).toBe(`Run Hermetic as daemon (uid 1), or, if you trust what is there: chown 0 ${path()}`);
    expect(checkConfig({ environment: home.environment })).toHaveLength(1);
    chownSync(path(), 0, 0);
    expect(load().config.terminal.backend).toBe('docker');
  });

  it('names an owner without an account by the number', () => {
    chownSync(home.config, unnamed, unnamed);
    expect(errorOf(load).message).toContain(`belongs to uid ${unnamed}`);
  });

  it("refuses another user's link target, link, or directory on the way", () => {
    const elsewhere = makeScratch();
    const target = join(elsewhere, 'inner', 'config.yaml');
    mkdirSync(join(elsewhere, 'inner'));
    writeFileSync(target, 'terminal:\n  backend: docker\n');
    renameSync(home.config, `${home.config}.old`);
    symlinkSync(target, home.config);
    expect(load().config.terminal.backend).toBe('docker');
    for (const [path, change] of [
      [target, chownSync],
      [join(elsewhere, 'inner'), chownSync],
      [home.config, lchownSync],
    ] as const) {
      change(path, daemon, daemon);
      expect(errorOf(load).message).toMatch(new RegExp(`^${path}.* belongs to daemon`));
      change(path, 0, 0);
    }
    expect(load().config.terminal.backend).toBe('docker');
  });

  it('`config set` and `secret set` change no file of another user', () => {
    chownSync(home.config, daemon, daemon);
    expect(errorOf(() => changeKeys(home.config, { 'terminal.backend': 'local' })).message).toContain('belongs to daemon');
    expect(readFileSync(home.config, 'utf8')).toContain('docker');
    chownSync(home.dotenv, daemon, daemon);
    expect(errorOf(() => saveSecret(home.dotenv, 'A_TOKEN', '2')).message).toContain('belongs to daemon');
    expect(readFileSync(home.dotenv, 'utf8')).toContain('A_TOKEN=1');
  });
});

describe('directories above the home', () => {
  const inShared = (mode: number) => {
    const shared = join(home.userHome, 'shared');
    mkdirSync(shared);
    const inner = join(shared, 'inner');
    mkdirSync(inner, { mode: 0o700 });
    chmodSync(shared, mode);
    return { shared, environment: { HOME: home.userHome, HERMETIC_HOME: inner } };
  };

  it.each([0o777, 0o775, 0o702])('refuses a directory that others can write (mode %o) above the home, until that is mended', (mode) => {
    const { shared, environment } = inShared(mode);
    const error = errorOf(() => loadConfig({ environment }));
    expect(error.message).toContain(`${shared} can be written by others (mode ${mode.toString(8)}), and ${shared}/inner is in it`);
    expect(error.hint).toBe(`Run: chmod go-w ${shared}`);
    chmodSync(shared, mode & ~0o022);
    expect(loadConfig({ environment }).home).toBe(join(shared, 'inner'));
  });

  it.each([0o1777, 0o1775, 0o755])('accepts a directory with mode %o above the home, where only the owner can replace it', (mode) => {
    const { shared, environment } = inShared(mode);
    expect(loadConfig({ environment }).home).toBe(join(shared, 'inner'));
  });
});

describe('config.yaml writable by others', () => {
  it('refuses a config.yaml that others can write and reach', () => {
    chmodSync(home.directory, 0o755);
    chmodSync(home.config, 0o666);
    expect(errorOf(load).message).toContain('config.yaml can be written by others (mode 666)');
  });

  it('accepts a config.yaml that others could write but cannot reach', () => {
    chmodSync(home.config, 0o664);
    expect(load().config.terminal.backend).toBe('docker');
  });
});

describeNeeding(['root'], 'live settings of another user', () => {
  it.each([
    ['config.yaml', () => home.config],
    ['.env', () => home.dotenv],
    ['the home', () => home.directory],
    ['the directory above the home', () => home.userHome],
  ])('a running gateway keeps the last good version when %s gets another owner', async (_, path) => {
    const applied: LoadedConfig[] = [];
    const live = new LiveConfig({
      running: load(),
      load,
      apply: (loaded) => applied.push(loaded),
      refused: () => undefined,
      log: () => undefined,
    });
    chownSync(path(), daemon, daemon);
    // A change of the directory above is seen with the next change of the files.
    home.writeConfig('approvals:', '  timeout: 60');
    await live.fresh();
    expect(applied).toEqual([]);
    expect(live.problem).toMatch(/belongs to daemon \(uid 1\).* The last good configuration stays in force\.$/);
    expect(live.problem).not.toContain(home.userHome);
    chownSync(path(), 0, 0);
    home.writeConfig('approvals:', '  timeout: 70');
    await live.fresh();
    expect(live.problem).toBeUndefined();
    expect(applied.map(({ config }) => config.approvals.timeout)).toEqual([70]);
  });
});
