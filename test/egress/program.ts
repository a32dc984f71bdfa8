import { EgressThread } from '../../src/egress/thread.ts';
import { entranceOf, noRules } from './namespace.ts';

/** Opens the doors of the namespaces that its arguments name, prints `open`, and stays until its standard input ends. */
const egress = new EgressThread(() => noRules, { file: new URL('./toy-worker.ts', import.meta.url) });
const places = process.argv.slice(2);
process.stdin.resume();
await Promise.all(places.map((place) => egress.open(entranceOf(place))));
process.stdout.write('open\n');
