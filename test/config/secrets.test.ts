import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { missingSecrets, secretFlaw, secretSettings } from '../../src/config/bound-secrets.ts';
import { changeKeys, unsetKey } from '../../src/config/edit.ts';
import { allowRules, egressRules, rulesWithoutEffect } from '../../src/config/egress-rules.ts';
import { findKey } from '../../src/config/keys.ts';
import { checkConfig, loadConfig } from '../../src/config/load.ts';
import { checkSecretName } from '../../src/config/secrets-file.ts';
import { credentialHeaders } from '../../src/egress/bound-secret.ts';
import { decide } from '../../src/egress/rules.ts';
import { errorOf, makeHome, type TestHome } from './scratch.ts';

let home: TestHome;
beforeEach(() => {
  home = makeHome();
});

const environment = (more: Record<string, string> = {}) => ({ environment: { ...home.environment, ...more } });
const load = (more: Record<string, string> = {}) => loadConfig(environment(more));
const problems = (more: Record<string, string> = {}) => checkConfig(environment(more));
const messages = (more: Record<string, string> = {}) => problems(more).map(({ message }) => message);

describe('the section secrets', () => {
  test('a secret has the defaults of the reference', () => {
    home.writeConfig('secrets:', '  GITHUB_TOKEN:', '    hosts: [API.github.com, "git.example.com:8443"]');
    expect(secretSettings(load().config)).toEqual([
      {
        name: 'GITHUB_TOKEN',
        env: 'GITHUB_TOKEN',
        inside: 'GITHUB_TOKEN',
        destinations: [
          { host: 'api.github.com', port: 443 },
          { host: 'git.example.com', port: 8443 },
        ],
        headers: credentialHeaders,
        query: false,
        path: false,
        prefix: undefined,
        exclusive: false,
      },
    ]);
  });

  test('every key of a secret can be set, in config.yaml and as JSON in HERMETIC_SECRETS, which wins', () => {
    const entry = {
      hosts: ['a.example'],
      env: 'SOURCE',
      as: 'INSIDE',
      headers: ['X-Token'],
      query: true,
      path: true,
      prefix: 'tok_',
      exclusive: true,
    };
    home.writeConfig(`secrets: ${JSON.stringify({ ONE: entry })}`);
    const expected = { env: 'SOURCE', inside: 'INSIDE', headers: ['x-token'], query: true, path: true, prefix: 'tok_', exclusive: true };
    expect(secretSettings(load().config)).toMatchObject([{ name: 'ONE', ...expected }]);
    const { config, origins } = load({ HERMETIC_SECRETS: JSON.stringify({ TWO: entry }) });
    expect(secretSettings(config)).toMatchObject([{ name: 'TWO', ...expected }]);
    expect(origins.secrets).toEqual({ source: 'environment', variable: 'HERMETIC_SECRETS' });
  });

  test.each([
    ['https://a.example/x', /secrets\.X\.hosts\[0\]: .* is a URL/],
    ['*.a.example', /secrets\.X\.hosts\[0\]: .* has a wildcard/],
    ['a.example:*', /secrets\.X\.hosts\[0\]: .* has a wildcard/],
    ['203.0.113.0/24', /secrets\.X\.hosts\[0\]: .* is an address range/],
    ['a b', /secrets\.X\.hosts\[0\]: .* is not HOST or HOST:PORT/],
    ['a.example:0', /secrets\.X\.hosts\[0\]: .* is not HOST or HOST:PORT/],
    ['a.example:80', /secrets\.X\.hosts\[0\]: .* is a port without TLS/],
    ['localhost', /secrets\.X\.hosts\[0\]: .* is not a public address/],
    ['api.localhost', /secrets\.X\.hosts\[0\]: .* is not a public address/],
    ['10.0.0.1', /secrets\.X\.hosts\[0\]: .* is not a public address/],
    ['0x7f.1', /secrets\.X\.hosts\[0\]: .* is not a public address/],
    ['169.254.169.254', /secrets\.X\.hosts\[0\]: .* is not a public address/],
    ['[::1]:443', /secrets\.X\.hosts\[0\]: .* is not a public address/],
  ])('refuses the host %s of a secret with file, line, key and a sentence', (host, sentence) => {
    home.writeConfig('secrets:', '  X:', '    hosts:', `      - ${JSON.stringify(host)}`);
    const [problem, ...others] = problems();
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ code: 'config/bad-value', file: home.config, line: 4, key: 'secrets' });
    expect(problem?.message).toMatch(sentence);
  });

  test.each([
    ['X: { hosts: [] }', 'secrets.X.hosts: it names no host.'],
    ['X: {}', 'secrets.X.hosts must be a list of hosts (HOST or HOST:PORT), not nothing.'],
    ['X: { hosts: [a.example], host: b }', 'secrets.X.host is not a key. Did you mean hosts?'],
    ['X: { hosts: [a.example], exclusiv: true }', 'secrets.X.exclusiv is not a key. Did you mean exclusive?'],
    ['X: { hosts: [a.example], exclusive: maybe }', 'secrets.X.exclusive must be true or false, not "maybe".'],
    ['X: { hosts: [a.example], headers: ["a b"] }', 'secrets.X.headers[0] must be the name of a header'],
    ['X: { hosts: [a.example], headers: [Host] }', 'it belongs to the connection or to the body'],
    ['X: { hosts: [a.example], headers: [] }', 'secrets.X: it is never put in'],
    ['X: { hosts: [a.example], as: "1x" }', 'secrets.X.as must be the name of an environment variable'],
    ['X: { hosts: [a.example], as: HTTPS_PROXY }', 'secrets.X: the sandbox sets HTTPS_PROXY itself.'],
    ['X: { hosts: [a.example], as: SSL_CERT_FILE }', 'secrets.X: the sandbox sets SSL_CERT_FILE itself.'],
    ['NODE_EXTRA_CA_CERTS: { hosts: [a.example] }', 'the sandbox sets NODE_EXTRA_CA_CERTS itself.'],
    ['"a-b": { hosts: [a.example] }', 'and "a-b" is not such a name.'],
    ['X: { hosts: [a.example], as: constructor }', 'secrets.X.as must be the name of an environment variable'],
    ['X: { hosts: [a.example], env: __proto__ }', 'secrets.X.env must be the name of an environment variable'],
    ['PATH: { hosts: [a.example] }', 'secrets.PATH: PATH decides how programs start. Choose another variable with as.'],
    ['X: { hosts: [a.example], as: LD_PRELOAD }', 'secrets.X: LD_PRELOAD decides how programs start'],
    ['{ X: { hosts: [a.example] }, Y: { hosts: [b.example], as: X } }', 'secrets.Y: X inside the sandbox is already the variable of X.'],
  ])('refuses %s', (text, sentence) => {
    home.writeConfig('secrets:', `  ${text}`);
    expect(messages()).toEqual([expect.stringContaining(sentence)]);
  });

  test.each([
    'secrets: { X: ghp_thisIsAValue }',
    'secrets: ghp_thisIsAValue',
    'secrets: { X: { hosts: ghp_thisIsAValue } }',
    'secrets: { X: { hosts: [a.example], env: "ghp_thisIsAValue-" } }',
    'secrets: { X: { hosts: [a.example], prefix: "ghp_thisIsAValue and more" } }',
  ])('never repeats a value that was written where none belongs: %s', (line) => {
    home.writeConfig(line);
    expect(messages()).toHaveLength(1);
    expect(messages()[0]).not.toContain('thisIsAValue');
  });

  test.each([
    ['docker_forward_env', '[X]'],
    ['env_passthrough', '[X]'],
    ['docker_env', '{ X: value }'],
  ])('refuses a secret that terminal.%s also names', (key, value) => {
    for (const entry of ['X: { hosts: [a.example] }', 'Y: { hosts: [a.example], env: X }', 'Y: { hosts: [a.example], as: X }']) {
      home.writeConfig('terminal:', `  ${key}: ${value}`, 'secrets:', `  ${entry}`);
      const [problem, ...others] = problems();
      expect(others).toEqual([]);
      expect(problem).toMatchObject({ code: 'config/bad-value', file: home.config, line: 3, key: `secrets.${entry[0]}` });
      expect(problem?.message).toContain(`terminal.${key} also names X`);
      expect(() => load()).toThrow(/A secret never enters/);
    }
  });

  test('refuses a secret that a variable of the process forwards', () => {
    home.writeConfig('secrets: { X: { hosts: [a.example] } }');
    expect(messages({ TERMINAL_DOCKER_FORWARD_ENV: '["X"]' })).toEqual([
      expect.stringContaining('terminal.docker_forward_env also names X'),
    ]);
  });
});

describe('variables by which programs start', () => {
  const refused =
    `PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND IFS HOME SHELL
    PYTHONSTARTUP PYTHONPATH PYTHONHOME PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH
    GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_PARAMETERS GIT_TEMPLATE_DIR
    OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES npm_config_script_shell NPM_CONFIG_REGISTRY Npm_Config_Prefix RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
    CARGO_HOME CARGO_BUILD_RUSTC CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER XDG_CONFIG_HOME XDG_DATA_DIRS PYTHONSAFEPATH`.split(/\s+/);
  const accepted =
    `GITHUB_TOKEN GIT_TOKEN GH_TOKEN GITLAB_TOKEN NODE_AUTH_TOKEN NPM_TOKEN NPM_CONFIG__AUTH npm_config__authToken CARGO_REGISTRY_TOKEN CARGO_REGISTRIES_WORLD_TOKEN
    PYPI_TOKEN TWINE_PASSWORD PATH_TOKEN HOMEBREW_GITHUB_API_TOKEN PYTHONANYWHERE_API_TOKEN LDAP_PASSWORD JAVA_KEY_PASSWORD ENV_TOKEN OPENAI_API_KEY
    ANTHROPIC_API_KEY OPENSSL_PASSWORD AWS_SECRET_ACCESS_KEY DATABASE_URL SLACK_BOT_TOKEN HF_TOKEN GIT_PASSWORD DOCKER_PASSWORD RUST_TOKEN`.split(
      /\s+/,
    );

  test.each(refused)('%s is no secret, and no variable inside of one', (name) => {
    expect(() => checkSecretName(name)).toThrow(/cannot be a secret: it decides how programs start/);
    for (const entry of [`${name}: { hosts: [a.example] }`, `X: { hosts: [a.example], as: ${name} }`]) {
      home.writeConfig('secrets:', `  ${entry}`);
      // The sandbox sets JAVA_TOOL_OPTIONS itself.
      expect(messages()).toEqual([
        expect.stringMatching(new RegExp(`(sets ${name} itself|${name} decides how programs start)\\. Choose another variable with as\\.`)),
      ]);
    }
    home.writeConfig('secrets:', `  ${name}: { hosts: [a.example], as: MY_TOKEN }`);
    expect(messages()).toEqual([expect.stringContaining(`secrets.${name}: ${name} decides how programs start. Choose another name.`)]);
  });

  test.each(accepted)('%s can be a secret', (name) => {
    checkSecretName(name);
    home.writeConfig('secrets:', `  ${name}: { hosts: [a.example] }`);
    expect(messages()).toEqual([]);
  });
});

/** Every object of JavaScript has something by these names. */
const objectNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__'];

describe('names that every object has', () => {
  test.each(objectNames)('a line %s of .env is not used, and a warning names file and line', (name) => {
    home.writeDotenv(`A=1\n${name}=hunter2-hunter2\nB=2\n`);
    const { environment: variables, dotenvNames, warnings } = load();
    expect({ ...variables }).toEqual({ HOME: home.userHome, A: '1', B: '2' });
    expect([...dotenvNames]).toEqual(['A', 'B']);
    expect(warnings).toMatchObject([{ code: 'config/unused-key', file: home.dotenv, line: 2, key: `secrets.${name}` }]);
    expect(warnings[0]?.message).toBe(`${home.dotenv}:2: the secret ${name} is not used: every JavaScript object has this name.`);
    expect(warnings[0]?.hint).toContain(`hermetic secret remove ${name}`);
    expect(problems()).toEqual([]);
  });

  test.each(objectNames)('a variable %s of the process is not used', (name) => {
    const given = Object.fromEntries([[name, 'hunter2-hunter2']]);
    expect(Object.keys(load(given).environment)).toEqual(['HOME']);
    home.writeDotenv('toString=hunter2-hunter2\n');
    expect(Object.keys(load(given).environment)).toEqual(['HOME']);
  });

  test('no variable that is not set is found by such a name', () => {
    const { environment: variables } = load();
    expect(objectNames.map((name) => variables[name])).toEqual(objectNames.map(() => undefined));
  });

  test.each(objectNames)('an entry %s of secrets that an earlier version wrote is not used, with a warning, and can be removed', (name) => {
    home.writeConfig('secrets:', '  ONE: { hosts: [a.example] }', `  ${name}: { hosts: [b.example] }`);
    const { config, warnings } = load();
    expect(secretSettings(config).map((setting) => setting.name)).toEqual(['ONE']);
    expect(warnings).toMatchObject([{ code: 'config/unused-key', file: home.config, line: 3, key: `secrets.${name}` }]);
    changeKeys(home.config, { 'secrets.TWO': '{ hosts: [c.example] }' });
    expect(Object.keys(load().config.secrets)).toEqual(['ONE', 'TWO']);
    expect(unsetKey(home.config, `secrets.${name}`)).toBe(true);
    expect(load().warnings).toEqual([]);
    expect(() => changeKeys(home.config, { [`secrets.${name}`]: '{ hosts: [c.example] }' })).toThrow(/is not used/);
  });

  test('a whole new map of secrets replaces such an entry', () => {
    home.writeConfig('secrets:', '  ONE: { hosts: [a.example] }', '  __proto__: { hosts: [b.example] }');
    changeKeys(home.config, { secrets: '{ TWO: { hosts: [c.example] } }' });
    expect(readFileSync(home.config, 'utf8')).not.toMatch(/__proto__|ONE/);
    expect(load().warnings).toEqual([]);
  });

  test.each([
    ['docker_forward_env', (name: string) => `[${name}]`],
    ['env_passthrough', (name: string) => `[${name}]`],
    ['docker_env', (name: string) => `{ ${name}: value }`],
  ])('are refused in terminal.%s', (key, value) => {
    for (const name of objectNames) {
      home.writeConfig('terminal:', `  ${key}: ${value(name)}`);
      expect(problems(), name).toMatchObject([{ code: 'config/bad-value', file: home.config, line: 2, key: `terminal.${key}` }]);
    }
  });

  test('are refused in HERMETIC_SECRETS', () => {
    for (const name of objectNames) {
      const text = `{"${name}":{"hosts":["a.example"]}}`;
      expect(messages({ HERMETIC_SECRETS: text }), name).toEqual([expect.stringContaining(`"${name}" is not such a name`)]);
    }
  });
});

describe('values of secrets', () => {
  const sentencesFor = (value: string) => {
    home.writeConfig('secrets: { X: { hosts: [a.example] } }');
    const loaded = load({ X: value });
    return secretSettings(loaded.config).map((setting) => secretFlaw(loaded, setting));
  };

  test.each([
    ['short77', 'shorter than 8'],
    ['with\nnewline', 'characters that no header can carry'],
    ['with\ttabulator', 'characters that no header can carry'],
    ['schlüssel1', 'characters that no header can carry'],
    ['trailing-blank ', 'characters that no header can carry'],
    ['x'.repeat(9000), 'longer than 8192'],
  ])('says what is wrong with a value without showing it', (value, sentence) => {
    const [flaw] = sentencesFor(value);
    expect(flaw).toContain(sentence);
    expect(flaw).not.toContain(value);
  });

  test('accepts printable values', () => {
    expect(sentencesFor('ghp_0123456789')).toEqual([undefined]);
  });

  test('says which secrets have no value', () => {
    home.writeConfig('secrets: { X: { hosts: [a.example], env: SOURCE }, Y: { hosts: [a.example] } }');
    home.writeDotenv('Y=value-of-dotenv\nSOURCE=\n');
    expect(missingSecrets(load())).toEqual([expect.stringContaining('secrets.X has no value: SOURCE is neither')]);
  });
});

describe('rules of secrets', () => {
  test('the hosts of secrets are allowed on their port only, with the secret as source, and deny wins', () => {
    home.writeConfig('network: { presets: [], deny: [b.example] }', 'secrets: { X: { hosts: [a.example, "b.example:8443"] } }');
    const { config } = load();
    expect(allowRules(config).map(({ rule, source }) => [rule.text, source])).toEqual([
      ['a.example:443', 'secret X'],
      ['b.example:8443', 'secret X'],
    ]);
    expect(decide(egressRules(config), { host: 'a.example', port: 443 }).verdict).toBe('allowed');
    expect(decide(egressRules(config), { host: 'a.example', port: 80 }).verdict).toBe('unlisted');
    expect(decide(egressRules(config), { host: 'x.a.example', port: 443 }).verdict).toBe('unlisted');
    expect(decide(egressRules(config), { host: 'b.example', port: 8443 }).verdict).toBe('denied');
    expect(rulesWithoutEffect(config)).toEqual(['secrets.X: b.example:8443 cannot be reached, because network.deny has "b.example".']);
  });
});

describe('editing secrets', () => {
  test('config set changes one secret or all of them, keeps comments, and unset takes them out', () => {
    home.writeConfig('# first', 'secrets: # of mine', '  # the one', '  ONE: { hosts: [a.example] } # here', 'network: { presets: [] }');
    changeKeys(home.config, { 'secrets.TWO': '{"hosts": ["b.example:8443"], "exclusive": true}' });
    expect(Object.keys(load().config.secrets)).toEqual(['ONE', 'TWO']);
    for (const comment of ['# first', '# of mine', '# the one', '# here']) expect(readFileSync(home.config, 'utf8')).toContain(comment);
    changeKeys(home.config, { secrets: '{"TWO": {"hosts": ["c.example"]}, "THREE": {"hosts": ["d.example"]}}' });
    expect(load().config.secrets).toMatchObject({ TWO: { hosts: ['c.example'] }, THREE: { hosts: ['d.example'] } });
    expect(Object.keys(load().config.secrets)).toEqual(['TWO', 'THREE']);
    expect(unsetKey(home.config, 'secrets.TWO')).toBe(true);
    expect(unsetKey(home.config, 'secrets.TWO')).toBe(false);
    expect(unsetKey(home.config, 'secrets')).toBe(true);
    expect(load().config.secrets).toEqual({});
    expect(readFileSync(home.config, 'utf8')).toContain('# first');
  });

  test('config set refuses a secret that is wrong or forwarded, and a forwarded variable that is a secret, and changes nothing', () => {
    home.writeConfig('terminal: { docker_forward_env: [X] }', 'secrets: { Y: { hosts: [a.example] } }');
    const before = readFileSync(home.config, 'utf8');
    expect(errorOf(() => changeKeys(home.config, { 'secrets.X': '{"hosts": ["a.example"]}' })).message).toContain('also names X');
    expect(errorOf(() => changeKeys(home.config, { 'secrets.Z': '{"hosts": ["*.example.com"]}' })).message).toContain(
      'secrets.Z.hosts[0]: ',
    );
    expect(errorOf(() => changeKeys(home.config, { 'secrets.Z.hosts': '["a.example"]' })).code).toBe('config/unknown-key');
    expect(errorOf(() => changeKeys(home.config, { 'terminal.docker_env': '{"Y": "1"}' })).message).toContain('also names Y');
    expect(readFileSync(home.config, 'utf8')).toBe(before);
  });

  test('a key of a section that is no map of entries is still unknown', () => {
    expect(findKey('terminal.nothing')).toBeUndefined();
    expect(findKey('secrets.')).toBeUndefined();
    expect(findKey('secrets.a-b')).toBeUndefined();
    expect(findKey('secrets.X')?.name).toBe('secrets.X');
  });
});
