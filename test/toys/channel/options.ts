import { platformOptions } from '../../../src/channels/driver.ts';
import { text } from '../../../src/lib/setting-kinds.ts';

export const toyOptions = platformOptions(
  'Toy',
  {},
  {
    directory: text('a directory').default('/nowhere').describe('Where the files in.txt and out.txt are.'),
  },
);
