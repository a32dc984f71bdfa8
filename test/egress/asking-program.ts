import { EgressThread } from '../../src/egress/thread.ts';
import { entranceOf, noRules } from './namespace.ts';

/** Opens the door of the namespace that its argument names, prints `open`, and a line for each question about a host, to which it says no. */
const egress = new EgressThread(() => noRules);
const [place = '', mark = ''] = process.argv.slice(2);
process.stdin.resume();
const door = await egress.open(entranceOf(place));
door.watch({
  mark,
  ask: async (request) => {
    process.stdout.write(`${JSON.stringify(request)}\n`);
    return { allowed: false, reason: 'refused' };
  },
  // Only connections with the mark are asked about.
  isRunning: () => false,
});
process.stdout.write('open\n');
