import { describe, expect, test } from 'vitest';
import { backendDrivers } from '../../src/backends/index.ts';
import { channelDrivers } from '../../src/channels/index.ts';
import { configKeys, configSections, nearestKey } from '../../src/config/keys.ts';
import { backendNames, configSchema, parseVolume } from '../../src/config/schema.ts';
import { platformsWithoutChannel } from '../../src/config/unused.ts';
import { errorOf } from './scratch.ts';

/** The product contract's table. */
const contract: Record<string, unknown> = {
  'terminal.backend': 'auto',
  'terminal.cwd': undefined,
  'terminal.timeout': 180,
  'terminal.max_foreground_timeout': 600,
  'terminal.lifetime_seconds': 300,
  'terminal.docker_image': 'nikolaik/python-nodejs:python3.11-nodejs20',
  'terminal.docker_forward_env': [],
  'terminal.docker_env': {},
  'terminal.docker_volumes': [],
  'terminal.docker_extra_args': [],
  'terminal.docker_mount_cwd_to_workspace': false,
  'terminal.docker_run_as_host_user': false,
  'terminal.docker_runtime': undefined,
  'terminal.docker_host': undefined,
  'terminal.docker_cert_path': undefined,
  'terminal.podman_image': 'docker.io/nikolaik/python-nodejs:python3.11-nodejs20',
  'terminal.podman_host': undefined,
  'terminal.env_passthrough': [],
  'terminal.credential_files': [],
  'terminal.container_cpu': 1,
  'terminal.container_memory': 5120,
  'terminal.container_disk': 51200,
  'terminal.container_pids': 256,
  'terminal.container_persistent': true,
  'terminal.network': undefined,
  'terminal.sandbox_dir': '$HERMETIC_HOME/sandboxes',
  'network.allow': [],
  'network.deny': [],
  'network.presets': ['packages', 'git'],
  'network.private': [],
  'network.direct_ports': [22, 443],
  'gateway.terminal_backend': undefined,
  'gateway.sandbox_image': undefined,
  'gateway.sandbox_lifetime': 3600,
  'gateway.sandbox_scope': 'session',
  'gateway.busy_mode': 'interrupt',
  'gateway.group_sessions': 'per_user',
  'gateway.thread_sessions': 'shared',
  'gateway.session_reset': 'idle',
  'gateway.session_idle_minutes': 1440,
  'gateway.max_sandboxes': 32,
  'approvals.mode': 'manual',
  'approvals.timeout': 300,
  'approvals.cron_mode': 'deny',
  'approvals.approvers': [],
  'code_execution.timeout': 300,
  'code_execution.max_tool_calls': 50,
  'code_execution.mode': 'project',
  'tool_output.max_bytes': 50000,
  'security.redact_secrets': true,
  'model.provider': undefined,
  'model.model': undefined,
  'model.base_url': undefined,
  'model.api_key_env': undefined,
  'telegram.enabled': false,
  'telegram.token_env': 'TELEGRAM_BOT_TOKEN',
  'telegram.allowed_users': [],
  'telegram.allow_all': false,
  'telegram.require_mention': true,
  'telegram.api_root': undefined,
  'web.enabled': true,
  'web.host': '127.0.0.1',
  'web.port': 8642,
};

describe('the schema', () => {
  test.each(Object.entries(contract))('%s has the default of the product contract', (name, fallback) => {
    const key = configKeys.find((candidate) => candidate.name === name);
    expect(key).toBeDefined();
    expect(key?.fallback).toEqual(fallback);
  });

  test.each(configKeys.map((key) => [key.name, key] as const))('describes %s and gives it a variable', (_, key) => {
    expect(key.description).toMatch(/^[\w`].*\.$/);
    expect(key.notes.expects).not.toBe('');
    expect(key.variable).toMatch(key.section === 'terminal' ? /^TERMINAL_[A-Z_]+$/ : /^HERMETIC_[A-Z_]+$/);
  });

  test('gives every key a variable of its own, and terminal.backend TERMINAL_ENV', () => {
    expect(new Set(configKeys.map((key) => key.variable)).size).toBe(configKeys.length);
    expect(configKeys.find((key) => key.name === 'terminal.backend')?.variable).toBe('TERMINAL_ENV');
    expect(configKeys.find((key) => key.name === 'code_execution.max_tool_calls')?.variable).toBe('HERMETIC_CODE_EXECUTION_MAX_TOOL_CALLS');
  });

  test('describes every section', () => {
    for (const section of configSections) expect(section.description).toMatch(/\.$/);
  });

  test('the schema accepts its own defaults', () => {
    expect(configSchema.parse(configSchema.parse({}))).toEqual(configSchema.parse({}));
  });

  test('the schema lists every backend', () => {
    expect(backendNames.join(' ')).toBe('auto local ssh vercel daytona modal kubernetes singularity podman bubblewrap docker');
  });

  test('the schema has a section for every platform with a channel, and for no other', () => {
    for (const { kind, options } of channelDrivers) {
      expect(configSections.find(({ name }) => name === kind)?.keys.map(({ key }) => key)).toEqual(Object.keys(options.shape));
    }
    for (const name of platformsWithoutChannel) expect(configSections.some((section) => section.name === name)).toBe(false);
  });

  test.each(backendNames.filter((name) => name !== 'auto'))('states for %s whether this version has it', (name) => {
    const isMissing = !backendDrivers.some(({ kind }) => kind === name);
    const refused = configKeys.find((key) => key.name === 'terminal.backend')?.description.split('This version refuses')[1] ?? '';
    expect(refused.includes(` ${name}`)).toBe(isMissing);
    expect(isMissing && configKeys.some(({ section, key }) => section === 'terminal' && key?.startsWith(`${name}_`))).toBe(false);
  });

  test.each(backendDrivers)('the schema has every option of $kind, prefixed with its name', ({ kind, options }) => {
    for (const key of Object.keys(options.shape)) {
      expect(key).toMatch(new RegExp(`^${kind}_`));
      expect(configKeys.some(({ name }) => name === `terminal.${key}`)).toBe(true);
    }
  });

  test('accepts users of known platforms only', () => {
    const allowed = (user: string) => configSchema.safeParse({ gateway: { allowed_users: [user] } }).success;
    expect(['telegram:4711', 'signal:+4912345'].every(allowed)).toBe(true);
    expect(['4711', 'telegram:', 'telegrm:4711', 'web:owner'].some(allowed)).toBe(false);
  });

  test('suggests a key of the same name in another section before a similar one', () => {
    expect(nearestKey('terminal.sandbox_image')).toBe('gateway.sandbox_image');
    expect(nearestKey('terminal.bakend')).toBe('terminal.backend');
    expect(nearestKey('terminal.docker.image')).toBe('terminal.docker_image');
    expect(nearestKey('terminal.persistent_shell')).toBeUndefined();
  });
});

describe('parseVolume', () => {
  test('splits a volume into source, target and mode', () => {
    expect(parseVolume('/data:/mnt/data')).toEqual({ source: '/data', target: '/mnt/data', readOnly: false });
    expect(parseVolume('/data:/mnt:ro')).toEqual({ source: '/data', target: '/mnt', readOnly: true });
    expect(parseVolume('/data:/mnt:rw')).toEqual({ source: '/data', target: '/mnt', readOnly: false });
    expect(parseVolume('~/data:/mnt')).toEqual({ source: '~/data', target: '/mnt', readOnly: false });
  });

  test.each([
    ['', 'two or three parts'],
    ['/data', 'two or three parts'],
    ['/a:/b:ro:x', 'two or three parts'],
    [':/b', 'host path is empty'],
    ['/a:', 'container path is empty'],
    ['/a::ro', 'container path is empty'],
    ['data:/b', 'host path is not absolute'],
    ['~user/x:/b', 'host path is not absolute'],
    ['/a:b', 'container path is not absolute'],
    ['/a:/b/../c', 'contains ..'],
    ['/a:/', 'root of the file system'],
    ['/a:/./', 'root of the file system'],
    ['/a:/b:', 'neither ro nor rw'],
    ['/a:/b:RO', 'neither ro nor rw'],
    ['/a\0:/b', 'NUL'],
  ])('refuses the volume %j', (entry, reason) => {
    const error = errorOf(() => parseVolume(entry));
    expect(error.code).toBe('config/bad-value');
    expect(error.message).toContain(reason);
    expect(error.hint).toContain('host:container');
  });
});
