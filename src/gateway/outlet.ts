import { randomUUID } from 'node:crypto';
import type { Place } from '../core/channel.ts';
import type { Outbox } from './outbox.ts';
import type { Outlet } from './work.ts';

interface OutletParts {
  place: Place;
  outbox: Outbox;
  /** The one that runs. */
  turn(): string | undefined;
  complain(error: unknown): void;
  background: Outlet['background'];
}

/** Into the chat. However often the same happens to a sandbox in one turn, it is said once. */
export function chatOutlet({ place, outbox, turn, complain, background }: OutletParts): Outlet {
  return {
    file: (file, caption) => outbox.deliver(place, `file/${randomUUID()}`, caption ?? file.name, { file }),
    notice: (text) => void outbox.deliver(place, `notice/${turn() ?? randomUUID()}/${text}`, text).catch(complain),
    background,
  };
}
