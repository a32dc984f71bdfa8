import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
beforeEach(() => {
  hermetic = new Hermetic();
});
afterEach(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

const directory = (): string => join(hermetic.home, '.hermetic');
const dotenv = (): string => readFileSync(join(directory(), '.env'), 'utf8');
const stored = (name: string): string | undefined => loadConfig({ environment: hermetic.environment }).environment[name];
const set = (name: string, input: string) => hermetic.run(['secret', 'set', name], { input });

function write(text: string, mode = 0o600): void {
  mkdirSync(directory(), { recursive: true, mode: 0o700 });
  writeFileSync(join(directory(), '.env'), text);
  chmodSync(join(directory(), '.env'), mode);
}

describe('hermetic secret set', () => {
  it('stores a secret from standard input, for its owner alone, and prints none of it', async () => {
    const outcome = await set('MY_TOKEN', 'hunter2-hunter2\n');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toBe(`MY_TOKEN is stored in ${join(directory(), '.env')}\n`);
    expect(stored('MY_TOKEN')).toBe('hunter2-hunter2');
    expect(statSync(join(directory(), '.env')).mode & 0o777).toBe(0o600);
  });

  it.each([
    'a\nb\r\nc',
    ' "both\' quotes" ',
    '$HOME \\n `id` #x',
    '\tüñ\u2028 ',
    '-----BEGIN KEY-----\nabc=\n-----END KEY-----',
    'x'.repeat(60_000),
  ])('stores %j exactly', async (value) => {
    expect(await set('MY_TOKEN', `${value}\n`)).toMatchObject({ code: 0 });
    expect(stored('MY_TOKEN')).toBe(value);
  });

  it('keeps comments and other lines, and removes the earlier value', async () => {
    write('# mine\nexport A=1 # one\nMY_TOKEN="old-value\nold-too"\n\nB=\'2\'\n');
    expect((await set('MY_TOKEN', 'new')).stdout).toContain('MY_TOKEN is replaced');
    expect(dotenv()).toBe("# mine\nexport A=1 # one\nMY_TOKEN=new\n\nB='2'\n");
    // Nothing but the file and the log of who changed it.
    expect(readdirSync(directory()).filter((name) => !name.startsWith('state.db'))).toEqual(['.env']);
  });

  it('asks at a terminal without an echo', async () => {
    const terminal = atTerminal(hermetic, ['secret', 'set', 'MY_TOKEN']);
    await terminal.sees('MY_TOKEN');
    terminal.type('hunter2 hunter2\r');
    expect(await terminal.exit).toBe(0);
    expect(terminal.text()).not.toContain('hunter2');
    expect(stored('MY_TOKEN')).toBe('hunter2 hunter2');
  });

  it('writes nothing when secret set is cancelled at the terminal', async () => {
    write('A=1\n');
    const terminal = atTerminal(hermetic, ['secret', 'set', 'MY_TOKEN']);
    await terminal.sees('MY_TOKEN');
    terminal.type('hunter2\u0003');
    expect(await terminal.exit).toBe(2);
    expect(dotenv()).toBe('A=1\n');
  });

  it('warns when the environment overrides the secret', async () => {
    const outcome = await hermetic.run(['secret', 'set', 'MY_TOKEN'], { input: 'x', environment: { MY_TOKEN: 'other' } });
    expect(outcome.stderr).toMatch(/MY_TOKEN is also set in the environment, which overrides \.env/);
  });

  it.each([
    ['a value as an argument', ['MY_TOKEN', 'hunter2'], 'x', /must not be an argument/],
    ['a name with the value', ['MY_TOKEN=hunter2'], 'x', /letters, digits and underscores/],
    ['a name that begins with a digit', ['2X'], 'x', /begins with no digit/],
    ['a setting', ['TERMINAL_ENV'], 'local', /hermetic config set terminal\.backend/],
    ['a variable of Hermetic', ['HERMETIC_HOME'], '/tmp', /not a secret/],
    ['a name that every object has', ['__proto__'], 'hunter2', /__proto__ cannot be the name of a secret/],
    ['another one', ['constructor', '--host', 'a.example'], 'hunter2-hunter2', /constructor cannot be the name of a secret/],
    ['the search path', ['PATH'], 'hunter2', /PATH cannot be a secret: it decides how programs start\. Choose another name.*--as/s],
    [
      'a library that programs load',
      ['LD_PRELOAD', '--host', 'a.example', '--as', 'MY_TOKEN'],
      'hunter2-hunter2',
      /LD_PRELOAD cannot be a secret/,
    ],
    ['options of a program', ['NODE_OPTIONS'], 'hunter2', /NODE_OPTIONS cannot be a secret/],
    ['nothing', ['MY_TOKEN'], '', /blank/],
    ['blanks', ['MY_TOKEN'], ' \n\n', /blank/],
    ['a NUL', ['MY_TOKEN'], 'hunter2\0', /NUL/],
    ['too much', ['MY_TOKEN'], 'hunter2'.repeat(40_000), /larger than 127 KiB/],
  ])('secret set refuses %s, repeats none of it and changes nothing', async (_, args, input, message) => {
    write('A=1\n');
    const outcome = await hermetic.run(['secret', 'set', ...args], { input });
    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr).not.toContain('hunter2');
    expect(dotenv()).toBe('A=1\n');
  });

  it('refuses a secret that is not text', async () => {
    const child = hermetic.start(['secret', 'set', 'MY_TOKEN']);
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    child.stdin?.end(Buffer.from([0xff, 0xfe, 0x41]));
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(2);
    expect(stderr).toContain('not UTF-8');
  });

  it('refuses a .env that others can read, and one that it cannot change safely', async () => {
    write('A=1\n', 0o644);
    expect(await set('MY_TOKEN', 'x')).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
    write('A="open\n');
    expect(await set('MY_TOKEN', 'hunter2')).toMatchObject({ code: 2, stderr: expect.stringMatching(/was not changed/) });
    expect(dotenv()).toBe('A="open\n');
  });
});

describe('hermetic secret list and remove', () => {
  it('lists secret names only, and removes one', async () => {
    write('# mine\nA=hunter2\nexport B="x\ny"\nA=hunter3\n');
    expect(await hermetic.run(['secret', 'list'])).toMatchObject({ code: 0, stdout: 'A\nB\n' });
    expect(JSON.parse((await hermetic.run(['secret', 'list', '--json'])).stdout)).toEqual([
      { name: 'A', hosts: [], variable: null, value: '.env', problem: null },
      { name: 'B', hosts: [], variable: null, value: '.env', problem: null },
    ]);
    expect(await hermetic.run(['secret', 'remove', 'A'])).toMatchObject({ code: 0 });
    expect(dotenv()).toBe('# mine\nexport B="x\ny"\n');
    expect(await hermetic.run(['secret', 'remove', 'A'])).toMatchObject({ code: 1, stderr: expect.stringContaining('no secret') });
  });

  it('secret commands work while the configuration does not load', async () => {
    write('A=1\n');
    writeFileSync(join(directory(), 'config.yaml'), 'nonsense: true\n');
    expect(await set('B', '2')).toMatchObject({ code: 0 });
    expect(await hermetic.run(['secret', 'list'])).toMatchObject({ code: 0, stdout: 'A\nB\n' });
  });
});

describe('secrets that are bound to hosts', () => {
  const config = (): string => readFileSync(join(directory(), 'config.yaml'), 'utf8');
  const writeConfig = (text: string): void => {
    write('A=1\n');
    writeFileSync(join(directory(), 'config.yaml'), text);
  };
  const settings = () => loadConfig({ environment: hermetic.environment }).config.secrets;
  const bind = (...options: string[]) => hermetic.run(['secret', 'set', 'MY_TOKEN', ...options], { input: 'hunter2-hunter2\n' });

  it('stores the value and binds it to its hosts, keeps comments, and prints none of the value', async () => {
    writeConfig('# mine\nnetwork: { presets: [] } # none\n');
    const outcome = await bind(
      '--host',
      'api.example.com',
      '--host',
      'git.example.com:8443',
      '--exclusive',
      '--as',
      'INSIDE',
      '--header',
      'X-Token',
      '--prefix',
      'tok_',
    );
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toContain('MY_TOKEN is bound to api.example.com, git.example.com:8443 in ');
    expect(stored('MY_TOKEN')).toBe('hunter2-hunter2');
    expect(config()).toMatch(/^# mine\n.*# none\n/);
    expect(settings()).toMatchObject({
      MY_TOKEN: { hosts: ['api.example.com', 'git.example.com:8443'], exclusive: true, as: 'INSIDE', headers: ['X-Token'], prefix: 'tok_' },
    });
    expect(outcome.stdout + outcome.stderr + config()).not.toContain('hunter2');
    expect(await bind('--host', 'other.example')).toMatchObject({ code: 0 });
    expect(settings()).toMatchObject({ MY_TOKEN: { hosts: ['other.example'], exclusive: true, as: 'INSIDE' } });
  });

  it.each([
    ['a wildcard', ['--host', '*.example.com'], '', /has a wildcard/],
    ['a private address', ['--host', '10.0.0.1'], '', /not a public address/],
    ['a variable of the sandbox', ['--host', 'a.example', '--as', 'HTTPS_PROXY'], '', /the sandbox sets HTTPS_PROXY itself/],
    [
      'a variable by which programs start',
      ['--host', 'a.example', '--as', 'BASH_ENV'],
      '',
      /BASH_ENV decides how.*another variable with as/,
    ],
    ['a forwarded name', ['--host', 'a.example'], 'terminal: { docker_forward_env: [MY_TOKEN] }\n', /also names MY_TOKEN/],
    ['options without a host', ['--exclusive'], '', /for a secret that is bound to hosts/],
    ['a configuration that does not load', ['--host', 'a.example'], 'nonsense: true\n', /nonsense is not a section/],
  ])('refuses %s and stores nothing', async (_, options, text, message) => {
    writeConfig(text);
    const outcome = await bind(...options);
    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toMatch(message);
    expect(dotenv()).toBe('A=1\n');
    expect(config()).toBe(text);
  });

  it('refuses a binding that a variable of the environment forwards, and a value that no header can carry', async () => {
    writeConfig('');
    const forwarded = { TERMINAL_DOCKER_FORWARD_ENV: '["MY_TOKEN"]' };
    const args = ['secret', 'set', 'MY_TOKEN', '--host', 'a.example'];
    expect((await hermetic.run(args, { input: 'hunter2-hunter2', environment: forwarded })).stderr).toMatch(/also names MY_TOKEN/);
    const short = await hermetic.run(args, { input: 'hunter2' });
    expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining('it is shorter than 8 characters') });
    expect(short.stderr).not.toContain('hunter2');
    expect(dotenv()).toBe('A=1\n');
    expect(config()).toBe('');
  });

  it('config check warns of a secret without a value, of one that cannot be used and of one whose host is denied', async () => {
    writeConfig(
      'network: { deny: [c.example] }\nsecrets: { NONE: { hosts: [a.example] }, BAD: { hosts: [b.example] }, DENIED: { hosts: [c.example] } }\n',
    );
    write('BAD=hunter2\nDENIED=hunter2-hunter2\n');
    const { code, stderr } = await hermetic.run(['config', 'check']);
    expect(code).toBe(0);
    expect(stderr).toContain('warning: secrets.NONE has no value: NONE is neither in the environment nor in .env.');
    expect(stderr).toContain(
      'warning: secrets.BAD cannot be used: the value of BAD is shorter than 8 characters. Sandboxes with a restricted network do not open.',
    );
    expect(stderr).toContain('warning: secrets.DENIED: c.example:443 cannot be reached, because network.deny has "c.example".');
    expect(stderr).not.toContain('hunter2');
  });

  it('lists bindings with the variable inside and the source of the value, and removes value and binding', async () => {
    writeConfig(
      'secrets:\n  ONE: { hosts: [a.example], as: INSIDE }\n  TWO: { hosts: [b.example], env: SOURCE }\n  BAD: { hosts: [c.example] }\n',
    );
    write('A=1\nONE=hunter2-one\nBAD=short\n');
    const environment = { SOURCE: 'hunter2-two' };
    const { stdout } = await hermetic.run(['secret', 'list'], { environment });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^ONE +a\.example:443 +as INSIDE +value from \.env$/),
      expect.stringMatching(/^TWO +b\.example:443 +as TWO +value from the environment$/),
      expect.stringMatching(/^BAD +c\.example:443 +as BAD +secrets\.BAD cannot be used: the value of BAD is shorter than 8 characters\.$/),
      'A',
      '',
    ]);
    expect(stdout).not.toMatch(/hunter2|short$/m);
    const listed = JSON.parse((await hermetic.run(['secret', 'list', '--json'])).stdout);
    expect(listed[1]).toEqual({ name: 'TWO', hosts: ['b.example:443'], variable: 'TWO', value: null, problem: null });
    const removed = await hermetic.run(['secret', 'remove', 'ONE']);
    expect(removed).toMatchObject({ code: 0, stderr: '' });
    expect(removed.stdout).toMatch(
      /^ONE is removed from .*\.env\nsecrets\.ONE is removed from .*config\.yaml: sandboxes no longer get its placeholder\n$/,
    );
    expect(Object.keys(settings())).toEqual(['TWO', 'BAD']);
    expect((await hermetic.run(['secret', 'remove', 'TWO'])).stdout).toMatch(/^secrets\.TWO is removed/);
    expect(dotenv()).toBe('A=1\nBAD=short\n');
  });
});

describe('a home that has secrets with names that are refused', () => {
  const commands = [['status'], ['config', 'check'], ['config', 'list'], ['secret', 'list'], ['network', 'list']];

  it.each(['__proto__', 'constructor', 'toString'])('works, warns of the line, and loses %s by secret remove', async (name) => {
    write(`A=1\n${name}=hunter2-hunter2\n`);
    writeFileSync(join(directory(), 'config.yaml'), `secrets:\n  ${name}: { hosts: [a.example] }\n`);
    for (const args of commands) {
      const { code, stderr } = await hermetic.run(args);
      expect([args, code, stderr]).toEqual([args, 0, expect.not.stringMatching(/TypeError| at /)]);
      expect(stderr).not.toContain('hunter2');
    }
    const { stderr } = await hermetic.run(['config', 'check']);
    expect(stderr).toContain(`warning: ${join(directory(), '.env')}:2: the secret ${name} is not used`);
    expect((await hermetic.run(['secret', 'list'])).stdout).toBe(`A\n${name}\n`);
    const removed = await hermetic.run(['secret', 'remove', name]);
    expect(removed).toMatchObject({ code: 0, stderr: '' });
    expect(removed.stdout).toMatch(new RegExp(`^${name} is removed from .*\\.env\nsecrets\\.${name} is removed from .*config\\.yaml`));
    expect(dotenv()).toBe('A=1\n');
    expect(readFileSync(join(directory(), 'config.yaml'), 'utf8')).not.toContain(name);
    expect((await hermetic.run(['config', 'check'])).stderr).not.toContain(name);
    expect(await hermetic.run(['secret', 'remove', name])).toMatchObject({ code: 1, stderr: expect.stringContaining('no secret') });
  });

  it('says where a secret is that is called PATH, and loses it by secret remove', async () => {
    write('PATH=hunter2-hunter2\n');
    const config = join(directory(), 'config.yaml');
    writeFileSync(config, 'secrets:\n  PATH: { hosts: [a.example] }\n');
    const refused = await hermetic.run(['status']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`${config}:2:9: secrets.PATH: PATH decides how programs start. Choose another variable with as.`);
    expect(await hermetic.run(['secret', 'remove', 'PATH'])).toMatchObject({ code: 0, stderr: '' });
    expect(await hermetic.run(['config', 'check'])).toMatchObject({ code: 0 });
  });

  it('lists a secret that stands only in config.yaml and cannot be used, and config unset says what takes it out of .env', async () => {
    write('A=1\n');
    writeFileSync(join(directory(), 'config.yaml'), 'secrets:\n  toString: { hosts: [a.example] }\n');
    expect((await hermetic.run(['secret', 'list'])).stdout).toBe('A\ntoString\n');
    expect(JSON.parse((await hermetic.run(['secret', 'list', '--json'])).stdout)).toEqual([
      { name: 'A', hosts: [], variable: null, value: '.env', problem: null },
      { name: 'toString', hosts: [], variable: null, value: null, problem: 'toString is not used: every JavaScript object has this name.' },
    ]);
    for (const name of ['__proto__', 'constructor']) {
      const { code, stderr } = await hermetic.run(['config', 'unset', `secrets.${name}`]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`hint: hermetic secret remove ${name} takes it out.`)]);
      expect(stderr).not.toContain('Leave it out');
    }
  });

  it('removes refused secrets one by one although others keep the configuration from loading, and says which are left', async () => {
    write('PATH=hunter2-hunter2\n');
    const config = join(directory(), 'config.yaml');
    writeFileSync(config, 'secrets:\n  PATH: { hosts: [a.example] } # mine\n  LD_PRELOAD: { hosts: [b.example] }\n');
    const first = await hermetic.run(['secret', 'remove', 'PATH']);
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^PATH is removed from .*\nsecrets\.PATH is removed from .*config\.yaml/),
    });
    expect(first.stderr).toMatch(/^note: the configuration still does not load:\n.*config\.yaml:2:\d+: secrets\.LD_PRELOAD: .*\n$/);
    expect(first.stderr).not.toContain('hunter2');
    expect(readFileSync(config, 'utf8')).toBe('secrets:\n  LD_PRELOAD: { hosts: [b.example] }\n');
    const second = await hermetic.run(['secret', 'remove', 'LD_PRELOAD'], { environment: { HERMETIC_WEB_PORT: 'none' } });
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^secrets\.LD_PRELOAD is removed from /) });
    expect(second.stderr).toMatch(/^note: the configuration still does not load:\n.*HERMETIC_WEB_PORT/);
    expect(await hermetic.run(['config', 'check'])).toMatchObject({ code: 0 });
  });

  it('changes nothing of a file with other mistakes by taking out a secret that is none', async () => {
    write('');
    const config = join(directory(), 'config.yaml');
    const text = 'nonsense: true\nsecrets:\n  MY_TOKEN: { hosts: [a.example] }\n';
    writeFileSync(config, text);
    expect(await hermetic.run(['secret', 'remove', 'MY_TOKEN'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('nonsense'),
    });
    expect(readFileSync(config, 'utf8')).toBe(text);
  });
});
