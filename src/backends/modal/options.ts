import * as z from 'zod';
import { markRestart, notes, word } from '../../lib/setting-kinds.ts';

/** Modal lets no sandbox live longer. */
const day = 24 * 3600;

export const modalOptions = z.strictObject({
  modal_image: word('an image').default('nikolaik/python-nodejs:python3.11-nodejs20').describe('Image of the modal backend.'),
  modal_app: z
    .string()
    .regex(/^(?!ap-)[\w.-]{1,63}$/)
    .register(notes, { expects: 'the name of an app (letters, digits, -, _ and .)' })
    .default('hermetic')
    .describe('The app at Modal to which the sandboxes belong. It is made when it is missing.'),
  modal_max_lifetime: z
    .number()
    .min(300)
    .max(day)
    .register(notes, { expects: 'a number of seconds from 300 to 86400' })
    .default(day)
    .describe('Modal ends a sandbox that is older than so many seconds, also one in use; its files come back from the last snapshot.'),
  modal_snapshot_days: z
    .int()
    .min(1)
    .max(3650)
    .register(notes, { expects: 'a number of days from 1 to 3650' })
    .default(30)
    .describe('Modal removes the files of a session that was not used for so many days.'),
});

markRestart(modalOptions, 'modal_app', 'modal_max_lifetime', 'modal_snapshot_days');

export type ModalOptions = z.output<typeof modalOptions>;
