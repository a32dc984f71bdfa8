import { describe, expect, it } from 'vitest';
import { type CommandConnections, connectionEvents } from '../../src/approval/records.ts';

const redact = (text: string): string => text.replaceAll('hunter2-hunter2', '[secret]');

const session = ['session', 'telegram', 'null', '4711', 'null', '"4711"'];
const none = { blocked: [], allowed: [] };

function eventsOf(about: Partial<CommandConnections>) {
  return connectionEvents(
    { session, command: 'curl https://a.example', origin: { source: 'chat', person: 'telegram:4711' }, connections: none, ...about },
    redact,
  );
}

describe('the records of the connections of a command', () => {
  it('has none for a command without connections', () => expect(eventsOf({})).toEqual([]));

  it('has one for each destination and reason, with every field', () => {
    const blocked = [
      { host: 'evil.example', port: 443, reason: 'refused', count: 3, by: 'telegram:1' },
      { host: 'evil.example', port: 443, reason: 'not-awaited', count: 1 },
    ] as const;
    const allowed = [
      { host: 'api.example', port: 8443, count: 2, bytes: 512, rule: 'api.example:8443', secrets: ['TOKEN'], placeholders: ['OTHER'] },
    ];
    const common = { command: 'curl https://a.example', source: 'chat', person: 'telegram:4711' };
    const event = { actor: 'agent', session, kind: 'network' };
    expect(eventsOf({ connections: { blocked, allowed } })).toEqual([
      {
        ...event,
        outcome: 'blocked',
        what: {
          ...{
            host: 'evil.example',
            port: 443,
            reason: 'refused',
            rule: null,
            by: 'telegram:1',
            count: 3,
            bytes: null,
            secrets: [],
            placeholders: [],
          },
          ...common,
        },
      },
      {
        ...event,
        outcome: 'blocked',
        what: {
          ...{
            host: 'evil.example',
            port: 443,
            reason: 'not-awaited',
            rule: null,
            by: null,
            count: 1,
            bytes: null,
            secrets: [],
            placeholders: [],
          },
          ...common,
        },
      },
      {
        ...event,
        outcome: 'allowed',
        what: {
          ...{
            host: 'api.example',
            port: 8443,
            reason: null,
            rule: 'api.example:8443',
            by: null,
            count: 2,
            bytes: 512,
            secrets: ['TOKEN'],
            placeholders: ['OTHER'],
          },
          ...common,
        },
      },
    ]);
  });

  it.each([
    ['unresolved', 'failed'],
    ['unreachable', 'failed'],
    ['unverified-certificate', 'failed'],
    ['unlisted', 'blocked'],
    ['denied', 'blocked'],
    ['unanswered', 'blocked'],
    ['wrong-credential', 'blocked'],
  ] as const)('says of the reason %s that the connection %s', (reason, outcome) => {
    const blocked = [{ host: 'a.example', port: 443, reason, count: 1 }];
    expect(eventsOf({ connections: { blocked, allowed: [] } })).toMatchObject([{ outcome }]);
  });

  it('has null for what an answer allowed and for the person at this machine', () => {
    const allowed = [{ host: 'a.example', port: 443, count: 1, bytes: 0, rule: undefined, secrets: [], placeholders: [] }];
    const events = eventsOf({ connections: { blocked: [], allowed }, origin: { source: 'cli' } });
    expect(events).toMatchObject([{ outcome: 'allowed', what: { rule: null, person: null, source: 'cli' } }]);
  });

  it('takes secrets out of the command before it is cut, and out of the host', () => {
    const command = `${'x'.repeat(190)}hunter2-hunter2${'y'.repeat(100)}`;
    const blocked = [{ host: 'hunter2-hunter2.evil.example', port: 443, reason: 'unlisted', count: 1 }] as const;
    const [event] = eventsOf({ command, connections: { blocked, allowed: [] } });
    expect(event?.what.command).toBe(`${'x'.repeat(190)}[secret]yy`);
    expect(event?.what.host).toBe('[secret].evil.example');
  });
});
