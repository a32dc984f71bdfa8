import type * as z from 'zod';
import type { Driver } from '../core/driver.ts';
import type { Backend } from '../core/sandbox.ts';
import type { BackendContext } from './context.ts';

/** A way of making sandboxes. Its options are keys of `terminal` that begin with its kind. */
export interface BackendDriver<Options extends z.ZodObject = z.ZodObject> extends Driver<BackendContext, Backend, Options> {
  /** Only of a backend that `auto` may take. `when` completes the sentence "`auto` is docker …". Security: never without isolation. */
  readonly auto?: { readonly when?: string };
  /** The image of sandboxes that name none. A running gateway follows this option. */
  image?(options: z.output<Options>): string;
  /** Sockets on this machine that its engine listens on. Security: kept out of the sandboxes of every backend. */
  engineSockets?(options: z.output<Options>, environment: BackendContext['environment']): readonly string[];
}
