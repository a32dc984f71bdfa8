// Loaded before the program: a disk that fails while there is a file of this name in the home.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const { fdatasync } = fs;
const sign = join(process.env.HOME ?? '', 'disk-fails');

fs.fdatasync = (descriptor, done) => {
  if (!fs.existsSync(sign)) return fdatasync(descriptor, done);
  process.nextTick(done, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' }));
};
syncBuiltinESMExports();
