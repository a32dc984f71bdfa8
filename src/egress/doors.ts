import type { MessagePort } from 'node:worker_threads';
import type { EgressRules } from '../core/egress.ts';
import { CallSlots } from '../lib/call-slots.ts';
import type { DoorFailure, EntranceWords, Notice, NumberedRequest, Request } from './messages.ts';
import { DoorError } from './open-sockets.ts';
import { type DoorSession, SandboxDoor, type SessionParts } from './sandbox-door.ts';

/** Each helper is a process of 45 MB for a moment. */
const maxHelpers = 8;

/**
 * Serves the requests of `EgressThread`. Security: an error that is none of the expected ones ends the thread, which closes every socket: no
 * connection is served in an unknown state.
 */
export function serveDoors(port: MessagePort, firstRules: EgressRules, makeSession: (parts: SessionParts) => DoorSession): void {
  const doors = new Map<number, SandboxDoor>();
  const slots = new CallSlots(maxHelpers);
  let rules = firstRules;
  const notify = (notice: Notice): void => port.postMessage(notice);

  const open = async (number: number, entrance: EntranceWords): Promise<DoorFailure | undefined> => {
    const door = new SandboxDoor({
      entrance,
      rules: () => rules,
      makeSession,
      slots,
      onStarted: () => notify({ kind: 'started', door: number }),
      onConnections: (blocked, allowed) => notify({ kind: 'connections', door: number, blocked, allowed }),
      onQuestion: (notice) => notify({ door: number, ...notice }),
      onLost: (reason) => {
        doors.delete(number);
        notify({ kind: 'lost', door: number, reason });
      },
    });
    doors.set(number, door);
    try {
      await door.open();
      return undefined;
    } catch (error) {
      doors.delete(number);
      if (error instanceof DoorError) return error.failure;
      throw error;
    }
  };

  const handle = async (request: Request): Promise<DoorFailure | undefined> => {
    switch (request.kind) {
      case 'open':
        return await open(request.door, request.entrance);
      case 'close': {
        const door = doors.get(request.door);
        doors.delete(request.door);
        await door?.close();
        return undefined;
      }
      case 'rules':
        rules = request.rules;
        for (const door of doors.values()) door.rulesChanged();
        return undefined;
      case 'report':
        await doors.get(request.door)?.report();
        return undefined;
      case 'look': {
        const marks = await doors.get(request.door)?.liveMarks();
        if (marks) notify({ kind: 'live', door: request.door, marks });
        return undefined;
      }
      case 'reply':
        doors.get(request.door)?.reply(request.question, request.reply);
        return undefined;
      case 'stop':
        await Promise.all([...doors.values()].map((door) => door.close()));
        doors.clear();
        return undefined;
    }
  };

  port.on('message', async ({ id, request }: NumberedRequest) => {
    notify({ kind: 'answer', id, failure: await handle(request) });
  });
}
