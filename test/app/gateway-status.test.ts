import { describe, expect, it } from 'vitest';
import { type GatewayStatus, statusLines, statusView } from '../../src/app/status/gateway-status.ts';
import type { SessionStatus } from '../../src/app/status/session-status.ts';

const contained: GatewayStatus = {
  isPublic: true,
  backend: 'docker',
  image: 'debian:13',
  isContained: true,
  network: 'none',
  networkObstacle: undefined,
  networkWarning: undefined,
  scope: 'session',
  proof: undefined,
  words: { skipped: [], limits: '256 processes', sandboxes: 'one for each session', proof: 'not tried yet' },
  messaging: {
    configured: 'docker',
    used: 'docker',
    isolation: 'container',
    image: 'debian:13',
    network: 'none',
    networkRules: null,
    networkWarning: null,
    idleSeconds: 3600,
    unusable: [],
    unenforced: [],
    proof: null,
  },
  sandboxLines: [],
  warning: undefined,
  configuration: { problem: undefined, restart: [] },
  approvals: { mode: 'manual', waiting: 0 },
  sessions: [],
  access: [{ channel: 'web', text: 'only you', isOpen: false }],
  model: 'some/model',
  turnsRunning: 0,
  obstacle: undefined,
  readiness: { ok: true, reasons: [], down: [] },
  channels: [
    { kind: 'web', state: 'up', reason: undefined },
    { kind: 'telegram', state: 'down', reason: 'no connection' },
  ],
  url: undefined,
};
const local: GatewayStatus = {
  ...contained,
  backend: 'local',
  image: undefined,
  isContained: false,
  words: { ...contained.words, skipped: ['not docker: it is not running'], proof: undefined },
};
const linesIn = (status: GatewayStatus, title: string) =>
  statusView(status)
    .sections.find((section) => section.title === title)
    ?.lines.map(({ label, value }) => `${label} ${value}`.trim());

it('the page says why there is no network, with the command to run', () => {
  const networkObstacle = 'no network: slirp4netns is not installed (apt-get install slirp4netns)';
  expect(linesIn({ ...contained, networkObstacle }, 'Sandbox')).toContain(`Network ${networkObstacle}`);
});

it('the page says why the network is open although nothing asks for that', () => {
  const networkWarning = 'WARNING: Chat sessions have an open network, because it cannot be restricted: no nsenter.';
  expect(linesIn({ ...contained, network: 'open', networkWarning }, 'Sandbox')).toContain(`Network ${networkWarning}`);
});

it('the page states each fact about the sandbox once', () => {
  expect(linesIn(contained, 'Sandbox')).toEqual([
    'Backend docker',
    'Image debian:13',
    'Network none',
    'Proof not tried yet',
    'Limits 256 processes',
    'Sandboxes one for each session',
  ]);
  expect(linesIn(contained, 'Channels')).toEqual(['web up', 'telegram down (no connection)']);
});

it('the page mentions no sandbox, image or proof without isolation', () => {
  expect(linesIn(local, 'Sandbox')).toEqual([
    'Backend local',
    'not docker: it is not running',
    'Network none',
    'Limits 256 processes',
    'Sandboxes one for each session',
  ]);
  expect(statusView(local).where).toBe('Commands run on the machine of the gateway itself, without a sandbox.');
});

it('the page says who shares a sandbox', () => {
  expect(statusView(contained).where).toContain('this session’s own');
  expect(statusView({ ...contained, scope: 'shared' }).where).toContain('shared by all sessions');
  const obstacle = 'Nothing can be run: no sandbox backend works here (backend docker). docker: it is not running. Fix: sudo dockerd &';
  expect(statusView({ ...contained, backend: undefined, obstacle, isContained: false })).toMatchObject({
    summary: { value: 'Nothing can be run', tone: 'bad' },
    where: 'Nothing can be run.',
    obstacle,
  });
});

it('the page shows sessions with approvals off first, then what each session does', () => {
  const now = new Date('2026-01-02T10:00:00Z');
  const busy: SessionStatus = {
    title: 'telegram Ada',
    yolo: [{ by: 'telegram:1001', since: '2026-01-02T09:55:00Z' }],
    turnSince: '2026-01-02T09:59:40Z',
    modelAskedAt: null,
    running: [{ tool: 'terminal', command: 'make test', since: '2026-01-02T09:59:48Z', background: false, waitsFor: null }],
    sandbox: { name: 'x', backend: 'docker', image: null, closesInSeconds: null },
    pending: 2,
    usage: { inputTokens: 100, outputTokens: 10, cost: 0.5 },
  };
  const resting: SessionStatus = {
    ...busy,
    title: 'web Owner',
    yolo: [],
    turnSince: null,
    running: [],
    sandbox: { name: 'y', backend: 'docker', image: null, closesInSeconds: 3600 },
    pending: 0,
  };
  const { sections } = statusView({ ...contained, sessions: [busy, resting] }, now);
  expect(sections[0]).toMatchObject({ title: 'Yolo: approvals are off', lines: [{ tone: 'bad' }] });
  expect(sections[0]?.lines[0]?.value).toBe('telegram Ada: off for 5 min (only for telegram:1001)');
  expect(sections[1]?.lines.map(({ label, value }) => `${label}: ${value}`)).toEqual([
    'telegram Ada: terminal make test, running for 12 s; sandbox on docker: in use; 2 pending; 100 tokens in, 10 out, about $0.5000',
    'web Owner: sandbox on docker: 1 h left unless it is used or something still runs in it; 100 tokens in, 10 out, about $0.5000',
  ]);
});

describe('a channel that waits to be linked', () => {
  const qr = 'https://wa.me/settings/linked_devices#2@secret,part';
  const waiting = (link: { qr?: string; code?: string }, reason?: string): GatewayStatus => ({
    ...contained,
    channels: [{ kind: 'whatsapp', state: 'linking', reason, link }],
  });

  it('the page shows its QR code and says what to do with it', () => {
    const { sections } = statusView(waiting({ qr }, 'It was logged out.'));
    expect(sections.find(({ title }) => title === 'Channels')?.lines).toMatchObject([
      { label: 'whatsapp', value: 'waiting to be linked (It was logged out.)' },
      { value: expect.stringContaining('Scan this QR code'), qr },
    ]);
  });

  it('the page shows its code', () => {
    expect(linesIn(waiting({ code: 'ABCD-EFGH' }), 'Channels')?.[1]).toContain('Enter ABCD-EFGH');
  });

  it('a chat is told that it waits, and neither code', () => {
    const lines = statusLines(waiting({ qr, code: 'ABCD-EFGH' })).join('\n');
    expect(lines).toContain('whatsapp waiting to be linked');
    expect(lines).not.toContain('secret');
    expect(lines).not.toContain('ABCD');
  });
});
