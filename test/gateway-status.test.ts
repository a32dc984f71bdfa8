import { expect, it } from 'vitest';
import { type GatewayStatus, statusView } from '../src/gateway-status.ts';

const contained: GatewayStatus = {
  isPublic: true,
  backend: 'docker',
  image: 'debian:13',
  isContained: true,
  network: 'none',
  scope: 'session',
  proof: undefined,
  words: { skipped: [], limits: '256 processes', sandboxes: 'one for each session', proof: 'not tried yet' },
  messaging: {
    configured: 'docker',
    used: 'docker',
    isolation: 'container',
    image: 'debian:13',
    network: 'none',
    idleSeconds: 3600,
    unusable: [],
    unenforced: [],
    proof: null,
  },
  posture: [],
  warning: undefined,
  configuration: { problem: undefined, restart: [] },
  approvals: { mode: 'manual', waiting: 0 },
  model: 'some/model',
  turnsRunning: 0,
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

it('the page says each thing about the sandbox once', () => {
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

it('the page speaks of no sandbox, image or proof where there is none', () => {
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
  expect(statusView({ ...contained, scope: 'shared' }).where).toContain('all sessions share');
  expect(statusView({ ...contained, backend: undefined, isContained: false }).where).toContain('Nothing can be run');
});
