import * as z from 'zod';
import { markRestart, notes, text, wholeNumber, word } from '../../lib/setting-kinds.ts';
import { parseTarget } from '../../lib/ssh/target.ts';

export const daytonaOptions = z.strictObject({
  daytona_image: word('an image').default('nikolaik/python-nodejs:python3.11-nodejs20').describe('Image of the daytona backend.'),
  daytona_target: word('a region').optional().describe("Region of the sandboxes; unset is `DAYTONA_TARGET`, else the organization's own."),
  daytona_keep_days: wholeNumber('a whole number of days', 1, 3650)
    .default(30)
    .describe('Daytona deletes a stopped sandbox, with the files of its session, after so many days.'),
  daytona_archive_days: wholeNumber('a whole number of days', 1, 30)
    .default(7)
    .describe('Daytona moves a stopped sandbox to its archive after so many days: that costs less, and bringing it back takes minutes.'),
  daytona_max_disk: wholeNumber('a number of GiB', 1)
    .default(10)
    .describe('Max size of a disk in your organization, in GiB. `terminal.container_disk` gets no more.'),
  daytona_ssh_gateway: z
    .string()
    .refine((value) => parseTarget(value, 'user') && !value.includes('@'))
    .register(notes, { expects: 'host[:port]' })
    .optional()
    .describe('SSH gateway, by which commands are started; unset is the one that the API names.'),
  daytona_known_hosts: text('a path')
    .optional()
    .describe('File with the key of the SSH gateway, which is then the only one that counts; unset remembers the first key that it shows.'),
});

markRestart(
  daytonaOptions,
  ...(Object.keys(daytonaOptions.shape) as (keyof typeof daytonaOptions.shape)[]).filter((key) => key !== 'daytona_image'),
);

export type DaytonaOptions = z.output<typeof daytonaOptions>;
