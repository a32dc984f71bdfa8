import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import type { SecretsView } from '../../src/http/parts.ts';
import { type GatewayOptions, newHome, TestGateway, token } from './gateway.ts';

const value = 'ghp_valueOfTheTest0123456789012345678901';

let gateway: TestGateway;
afterEach(() => gateway?.remove());

async function start({ config = '', dotenv = '', ...options }: GatewayOptions & { config?: string; dotenv?: string } = {}): Promise<void> {
  const home = newHome();
  if (config) writeFileSync(join(home, 'config.yaml'), config);
  writeFileSync(join(home, '.env'), dotenv, { mode: 0o600 });
  gateway = await TestGateway.start({ home, ...options });
}

const read = (name: string): string => readFileSync(join(gateway.home, name), 'utf8');
const loaded = () => loadConfig({ environment: { HOME: gateway.home, HERMETIC_HOME: gateway.home } });
const send = (method: string, name: string, body?: string): Promise<Response> =>
  gateway.call(`/api/secrets/${name}`, { method, ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }) });
const put = (name: string, body: unknown): Promise<Response> => send('PUT', name, JSON.stringify(body));
const errorOf = async (response: Response): Promise<string> => ((await response.json()) as { error: string }).error;
const listed = async () => (await (await gateway.call('/api/secrets')).json()) as SecretsView;

describe('secrets on the page', () => {
  it('stores and binds a secret, lists it without its value, changes its hosts, and removes it', async () => {
    await start({ config: '# mine\nnetwork: { presets: [] } # none\n', dotenv: '# kept\nOTHER=untouched-value\n' });
    expect(await listed()).toEqual({ secrets: [], obstacle: null });
    const stored = await put('GITHUB_TOKEN', { hosts: ['github.com', 'api.github.com:8443'], value });
    expect(stored.headers.get('cache-control')).toBe('no-store');
    expect(stored.status).toBe(200);
    const view = {
      name: 'GITHUB_TOKEN',
      hosts: ['github.com', 'api.github.com:8443'],
      variable: 'GITHUB_TOKEN',
      value: '.env',
      problem: null,
    };
    expect(await stored.json()).toEqual({
      done: 'GITHUB_TOKEN is stored and bound to github.com, api.github.com:8443. Sessions use it from the next command on.',
      secrets: [view],
      obstacle: null,
    });
    expect(loaded().environment.GITHUB_TOKEN).toBe(value);
    const changed = (await (await put('GITHUB_TOKEN', { hosts: ['github.com'] })).json()) as { done: string };
    expect(changed.done).toMatch(/^GITHUB_TOKEN is bound to github\.com\. /);
    expect(loaded().environment.GITHUB_TOKEN).toBe(value);
    expect(await listed()).toEqual({ secrets: [{ ...view, hosts: ['github.com'] }], obstacle: null });
    expect(await (await put('GITHUB_TOKEN', { hosts: ['github.com'], value: `${value}x` })).text()).toMatch(/is replaced and bound/);
    expect(read('config.yaml')).toMatch(/^# mine\nnetwork: \{ presets: \[\] \} # none\n/);
    const removed = (await (await send('DELETE', 'GITHUB_TOKEN')).json()) as { done: string };
    expect(removed).toEqual({
      done: 'GITHUB_TOKEN is removed. Sessions are without it from the next command on.',
      secrets: [],
      obstacle: null,
    });
    expect(read('.env')).toBe('# kept\nOTHER=untouched-value\n');
    expect(loaded().config.secrets).toEqual({});
  });

  it('answers and logs never have a value, nor its length', async () => {
    await start({ dotenv: `OTHER=${value}\n`, config: 'secrets: { OTHER: { hosts: [a.example] } }\n' });
    const answers = [
      await put('ONE', { hosts: ['a.example'], value }),
      await put('ONE', { hosts: ['a.example'] }),
      await put('ONE', { hosts: ['*.example'], value }),
      await put('ONE', { hosts: [], value }),
      await put('ONE', { hosts: ['a.example'], value: ` ${value}` }),
      await put('ONE', { hosts: 'a.example', value }),
      await put('ONE', { hosts: ['a.example'], value: [value] }),
      await send('PUT', 'ONE', `{"hosts":["a.example"],"value":"${value}"`),
      await gateway.call('/api/secrets'),
      await send('DELETE', 'ONE'),
    ];
    const said = [...(await Promise.all(answers.map((answer) => answer.text()))), ...gateway.sentences].join('\n');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 400, 400, 400, 400, 400, 200, 200]);
    expect(said).not.toContain(value);
    expect(said).not.toMatch(new RegExp(`\\b${value.length}\\b`));
  });

  it.each([
    ['a name with a hyphen', 'MY-TOKEN', {}, /letters, digits and underscores/],
    ['a name that is not decoded', '%E0%A4%A', {}, /letters, digits and underscores/],
    ['a path', '..%2F.env', {}, /letters, digits and underscores/],
    ['a setting', 'TERMINAL_ENV', {}, /not a secret: Hermetic reads it as a setting/],
    ['a variable of Hermetic', 'HERMETIC_HOME', {}, /not a secret/],
    ['a variable of the sandbox', 'HTTPS_PROXY', {}, /the sandbox sets HTTPS_PROXY itself/],
    ['a forwarded name', 'FORWARDED', {}, /docker_forward_env also names FORWARDED/],
    ['a wildcard', 'MY_TOKEN', { hosts: ['*.example.com'] }, /has a wildcard/],
    ['a URL', 'MY_TOKEN', { hosts: ['https://example.com'] }, /is a URL/],
    ['a private address', 'MY_TOKEN', { hosts: ['10.0.0.1'] }, /not a public address/],
    ['a port without TLS', 'MY_TOKEN', { hosts: ['a.example:80'] }, /only over TLS/],
    ['no host', 'MY_TOKEN', { hosts: [] }, /names no host/],
    ['too many hosts', 'MY_TOKEN', { hosts: Array.from({ length: 101 }, (_, at) => `h${at}.example`) }, /at most 100 hosts/],
    ['a short value', 'MY_TOKEN', { value: 'short' }, /it is shorter than 8 characters/],
    ['a name that every object has', '__proto__', {}, /__proto__ cannot be the name of a secret/],
    ['another one', 'constructor', {}, /constructor cannot be the name of a secret/],
    ['a variable by which programs start', 'PATH', {}, /PATH cannot be a secret: it decides how programs start\. Choose another name/],
    ['a value that ends with a blank', 'MY_TOKEN', { value: `${value} ` }, /no blank at either end/],
    ['a value of two lines', 'MY_TOKEN', { value: `${value}\nx` }, /no header can carry/],
    ['a blank value', 'MY_TOKEN', { value: '  ' }, /it is blank/],
    ['no value', 'MY_TOKEN', { value: undefined }, /needs a value/],
    ['an unknown key', 'MY_TOKEN', { headers: ['Host'] }, /headers/],
    ['another type', 'MY_TOKEN', { value: 7 }, /expected string.*\(value\)/],
  ])('refuses %s in the words of the command line, and changes nothing', async (_, name, body, message) => {
    const config = 'terminal: { docker_forward_env: [FORWARDED] }\n';
    await start({ config, dotenv: 'A=1\n' });
    const response = await put(name, { hosts: ['a.example'], value, ...body });
    expect([response.status, await errorOf(response)]).toEqual([400, expect.stringMatching(message)]);
    expect([read('config.yaml'), read('.env')]).toEqual([config, 'A=1\n']);
    expect(gateway.sentences).toEqual([]);
  });

  it.each(['__proto__', 'constructor', 'toString'])('a secret cannot be bound without a value under the name %s', async (name) => {
    await start();
    expect((await put(name, { hosts: ['a.example'] })).status).toBe(400);
    expect((await send('DELETE', name)).status).toBe(404);
  });

  it.each(['__proto__', 'constructor'])('lists a secret %s of an earlier version as unusable, and removes it', async (name) => {
    await start({ config: `secrets:\n  ${name}: { hosts: [a.example] }\n`, dotenv: `A=1\n${name}=${value}\n` });
    expect((await put('MY_TOKEN', { hosts: ['a.example'], value })).status).toBe(200);
    expect((await listed()).secrets).toEqual([
      expect.objectContaining({ name: 'MY_TOKEN', problem: null }),
      { name, hosts: [], variable: name, value: null, problem: 'It is not used: every JavaScript object has this name. Remove it.' },
    ]);
    const removed = await send('DELETE', name);
    expect([removed.status, await removed.json()]).toMatchObject([200, { done: expect.stringMatching(`^${name} is removed`) }]);
    expect((await listed()).secrets).toHaveLength(1);
    expect(`${read('config.yaml')}${read('.env')}`).not.toContain(name);
    expect((await send('DELETE', name)).status).toBe(404);
  });

  it('keeps other keys of an entry, and its variable until there is a new value', async () => {
    await start({
      config: 'secrets:\n  BOT: { hosts: [a.example], path: true, env: SOURCE, as: INSIDE }\n',
      dotenv: 'SOURCE=hunter2-hunter2\n',
    });
    expect((await put('BOT', { hosts: ['b.example'] })).status).toBe(200);
    expect(loaded().config.secrets.BOT).toMatchObject({ hosts: ['b.example'], path: true, env: 'SOURCE', as: 'INSIDE' });
    expect((await listed()).secrets).toMatchObject([{ variable: 'INSIDE', value: '.env' }]);
    expect((await put('BOT', { hosts: ['b.example'], value })).status).toBe(200);
    expect(loaded().config.secrets.BOT).toMatchObject({ hosts: ['b.example'], path: true, as: 'INSIDE' });
    expect(loaded().config.secrets.BOT?.env).toBeUndefined();
    expect(loaded().environment).toMatchObject({ BOT: value, SOURCE: 'hunter2-hunter2' });
  });

  it('removes no value of .env that is not bound to hosts', async () => {
    await start({ dotenv: 'TELEGRAM_BOT_TOKEN=hunter2-hunter2\n' });
    const response = await send('DELETE', 'TELEGRAM_BOT_TOKEN');
    expect([response.status, await errorOf(response)]).toEqual([404, 'No secret of this name is bound to hosts.']);
    expect(read('.env')).toBe('TELEGRAM_BOT_TOKEN=hunter2-hunter2\n');
  });

  it('says which secrets have no value, an unusable one or a denied host', async () => {
    await start({
      config:
        'network: { deny: [c.example] }\nsecrets: { NONE: { hosts: [a.example] }, BAD: { hosts: [b.example] }, DENIED: { hosts: [c.example] } }\n',
      dotenv: `BAD=short\nDENIED=${value}\n`,
    });
    expect((await listed()).secrets.map(({ name, value: source, problem }) => [name, source, problem])).toEqual([
      ['NONE', null, expect.stringContaining('has no value')],
      ['BAD', '.env', expect.stringContaining('Sandboxes with a restricted network do not open.')],
      ['DENIED', '.env', expect.stringContaining('network.deny has "c.example"')],
    ]);
  });

  it('says when the environment overrides what is stored', async () => {
    await start({ environment: { MY_TOKEN: 'of-the-environment' } });
    const { done, secrets } = (await (await put('MY_TOKEN', { hosts: ['a.example'], value })).json()) as SecretsView & { done: string };
    expect(done).toContain('Note: MY_TOKEN is also set in the environment, which overrides .env.');
    expect(secrets).toMatchObject([{ value: 'environment' }]);
    const { done: removed } = (await (await send('DELETE', 'MY_TOKEN')).json()) as { done: string };
    expect(removed).toContain('Note: its value is still in MY_TOKEN.');
  });

  it('changes no secrets that a variable of the environment sets, and says so', async () => {
    await start({ environment: { HERMETIC_SECRETS: '{"A_TOKEN": {"hosts": ["a.example"]}}', A_TOKEN: value } });
    expect((await listed()).secrets.map(({ name }) => name)).toEqual(['A_TOKEN']);
    const response = await send('DELETE', 'A_TOKEN');
    expect([response.status, await errorOf(response)]).toEqual([400, expect.stringContaining('overrides config.yaml')]);
  });

  it('says why sessions do not use secrets', async () => {
    await start({ obstacle: 'Their network is open.' });
    expect(await (await put('MY_TOKEN', { hosts: ['a.example'], value })).json()).toMatchObject({
      done: 'MY_TOKEN is stored and bound to a.example. Their network is open.',
      obstacle: 'Their network is open.',
    });
  });

  it('says what is wrong with a configuration that does not load, and changes nothing', async () => {
    await start({ config: 'nonsense: true\n' });
    for (const response of [await gateway.call('/api/secrets'), await put('A', { hosts: ['a.example'], value }), await send('DELETE', 'A')])
      expect([response.status, await errorOf(response)]).toEqual([409, expect.stringContaining('nonsense is not a section')]);
    expect(read('.env')).toBe('');
  });

  it('loses none of many changes that come at once', async () => {
    await start({ config: 'network: { presets: [] }\n' });
    const names = Array.from({ length: 12 }, (_, at) => `TOKEN_${at}`);
    const answers = await Promise.all([
      ...names.map((name) => put(name, { hosts: [`${name.toLowerCase().replace('_', '-')}.example`], value: `${value}-${name}` })),
      put('SAME', { hosts: ['one.example'], value: 'value-for-one' }),
      put('SAME', { hosts: ['two.example'], value: 'value-for-two' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { config, environment } = loaded();
    for (const name of names) expect(environment[name]).toBe(`${value}-${name}`);
    expect(Object.keys(config.secrets).toSorted()).toEqual([...names, 'SAME'].toSorted());
    expect([config.secrets.SAME?.hosts, environment.SAME]).toEqual(
      environment.SAME === 'value-for-one' ? [['one.example'], 'value-for-one'] : [['two.example'], 'value-for-two'],
    );
    await Promise.all(names.map((name) => send('DELETE', name)));
    expect(Object.keys(loaded().config.secrets)).toEqual(['SAME']);
    expect(readdirSync(gateway.home).filter((name) => name.includes('.lock'))).toEqual([]);
  });

  it('refuses a body that is too large or not JSON', async () => {
    await start();
    for (const body of ['', 'value=1', '[]', 'null', '{"hosts":["a.example"],"value":"x'])
      expect((await send('PUT', 'MY_TOKEN', body)).status).toBe(400);
    expect((await put('MY_TOKEN', { hosts: ['a.example'], value: 'x'.repeat(300_000) })).status).toBe(413);
    expect(read('.env')).toBe('');
  });

  it('a long value is refused as one, and not as a request', async () => {
    await start();
    const response = await put('MY_TOKEN', { hosts: ['a.example'], value: 'x'.repeat(9000) });
    expect([response.status, await errorOf(response)]).toEqual([400, expect.stringContaining('it is longer than 8192 characters')]);
  });

  it('says when a file cannot be changed', async () => {
    await start();
    mkdirSync(join(gateway.home, 'config.yaml'));
    expect((await put('MY_TOKEN', { hosts: ['a.example'], value })).status).toBe(409);
    expect(read('.env')).toBe('');
  });
});

describe('who may change secrets', () => {
  async function ask(method: string, headers: Record<string, string>): Promise<number> {
    return await new Promise((resolve, reject) => {
      const { port } = gateway.server;
      const sent = request({ agent: false, host: '127.0.0.1', port, path: '/api/secrets/MY_TOKEN', method, headers }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      });
      sent.on('error', reject);
      sent.end(method === 'PUT' ? JSON.stringify({ hosts: ['a.example'], value }) : undefined);
    });
  }

  async function signedIn(): Promise<Record<string, string>> {
    const { origin } = new URL(gateway.url);
    const headers = { origin, 'x-hermetic': '1', 'content-type': 'application/json' };
    const answer = await fetch(new URL('/api/login', gateway.url), { method: 'POST', headers, body: JSON.stringify({ token }) });
    return { ...headers, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
  }

  it.each<[string, Record<string, string>]>([
    ['with another origin', { origin: 'https://evil.example' }],
    ['without an origin', { origin: '' }],
    ['on another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['that a browser says is of another site', { 'sec-fetch-site': 'same-site' }],
    ['that cannot send our header', { 'x-hermetic': '' }],
  ])('a page of another site changes no secret with the cookie: %s', async (_, others) => {
    await start();
    const page = await signedIn();
    const headers = Object.fromEntries(Object.entries({ ...page, ...others }).filter(([, text]) => text !== ''));
    for (const method of ['PUT', 'DELETE']) expect(await ask(method, headers)).toBe(403);
    expect(read('.env')).toBe('');
    expect(await ask('PUT', page)).toBe(200);
  });

  it('refuses a program that a session started, with any token', async () => {
    await start({ server: { refusalOf: async () => 'The page was not changed: this is a command of a session.' } });
    for (const method of ['GET', 'PUT', 'DELETE']) expect(await ask(method, { authorization: `Bearer ${token}` })).toBe(403);
    expect(read('.env')).toBe('');
  });

  it('limits how often secrets can be changed', async () => {
    await start({ limits: { requestsPerMinute: 3 } });
    const answers: number[] = [];
    for (let at = 0; at < 5; at++) answers.push((await put('MY_TOKEN', { hosts: ['a.example'], value })).status);
    expect(answers).toEqual([200, 200, 200, 429, 429]);
  });
});
