import * as z from 'zod';
import { markRestart, text } from '../../../src/lib/setting-kinds.ts';

export const toyOptions = z.strictObject({
  toy_greeting: text('a greeting').default('hello').describe('What the variable GREETING says in every toy sandbox.'),
});

markRestart(toyOptions, 'toy_greeting');
