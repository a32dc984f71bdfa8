import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { until } from '../until.ts';
import { AskingGateway, describeAsking } from './asking-gateway.ts';

const once = { allowed: true, until: 'command-ends' } as const;

/** Asks the proxy for so many hosts at once, and prints how many answers of each kind came. */
const crowd = (count: number): string => `python3 - <<'END'
import collections, selectors, socket
answers, waiting = collections.Counter(), selectors.DefaultSelector()
for number in range(${count}):
  try:
    connection = socket.create_connection(('127.0.0.1', 3128))
    host = f'{number}.crowd.test:443'
    connection.sendall(f'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n'.encode())
    waiting.register(connection, selectors.EVENT_READ)
  except OSError:
    answers['reset'] += 1
while sum(answers.values()) < ${count} - 64:
  for key, _ in waiting.select():
    try: answers[key.fileobj.recv(4096).split(b' ')[1].decode()] += 1
    except (OSError, IndexError): answers['reset'] += 1
    waiting.unregister(key.fileobj)
    key.fileobj.close()
print(sorted(answers), sum(answers.values()), flush=True)
waiting.select(100)
END`;

/** Asks the proxy for 3,000 hosts, one after the other, and never waits for an answer. */
const comeAndLeave = `python3 - <<'END'
import socket
print('begun', flush=True)
for number in range(3000):
  try:
    with socket.create_connection(('127.0.0.1', 3128)) as connection:
      connection.sendall(f'GET http://{number}.churn.test/ HTTP/1.1\\r\\nHost: {number}.churn.test\\r\\n\\r\\n'.encode())
  except OSError:
    pass
print('done')
END`;

/** Fills the tables of sockets and descriptors of its sandbox with connections of its own, and keeps them. */
const manySockets = `python3 - <<'END'
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
server = socket.create_server(('127.0.0.9', 9999), backlog=4096)
kept = []
try:
  while len(kept) < 16000:
    kept.append(socket.create_connection(('127.0.0.9', 9999)))
    kept.append(server.accept()[0])
except OSError as error:
  print(error)
print('full', flush=True)
time.sleep(1000)
END`;

await describeAsking(({ kind, world, engine, gateway, sandbox }) => {
  const others: AskingGateway[] = [];
  afterEach(async () => {
    for (const other of others.splice(0)) await other.close();
  });
  const another = (): AskingGateway => {
    const made = new AskingGateway(world(), engine);
    others.push(made);
    return made;
  };

  it('a program that wants 1,000 hosts at once has 64 questions, and another sandbox is asked about and served meanwhile', async () => {
    const run = await gateway().run(await gateway().open(), crowd(1_000));
    await gateway().printed(run, '936');
    expect(gateway().questions.filter((one) => one.run === run)).toHaveLength(64);
    const other = await gateway().run(sandbox(), 'curl -sS https://beside.test/');
    await gateway().answer(await gateway().asked(other, 'beside.test'), once);
    expect((await gateway().ended(other)).stdout).toBe('hello from beside.test\n');
    await gateway().do({ order: 'kill', run });
    await until('all are noticed to be gone', () => gateway().questions.every((one) => one.run !== run || one.isLeft));
    const { connections } = await gateway().ended(run);
    expect(new Set(connections.blocked.map(({ reason }) => reason))).toContain('too-many-questions');
    expect(connections.blocked.length).toBeLessThanOrEqual(64);
    expect(connections.allowed).toEqual([]);
  });

  it('clients that come and leave by thousands are counted, and another sandbox is asked about and served meanwhile', async () => {
    const run = await gateway().run(await gateway().open(), comeAndLeave);
    await gateway().printed(run, 'begun');
    const other = await gateway().run(sandbox(), 'curl -sS https://meanwhile.test/');
    await gateway().answer(await gateway().asked(other, 'meanwhile.test'), once);
    expect((await gateway().ended(other)).stdout).toBe('hello from meanwhile.test\n');
    const { stdout, connections } = await gateway().ended(run);
    expect(stdout).toContain('done');
    expect(connections.blocked.length).toBeLessThanOrEqual(32);
    expect(gateway().questions.filter((one) => one.run === run).length).toBeLessThanOrEqual(64);
  });

  it('a sandbox full of sockets is still asked about, and another one is served meanwhile', async () => {
    const full = await gateway().open();
    const filling = await gateway().run(full, manySockets);
    await gateway().printed(filling, 'full');
    const run = await gateway().run(full, 'curl -sS https://amid.test/');
    const asked = await gateway().asked(run, 'amid.test');
    expect(asked.request.program).toBe('curl');
    const other = await gateway().run(sandbox(), 'curl -sS https://beside.test/');
    await gateway().answer(await gateway().asked(other, 'beside.test'), once);
    expect((await gateway().ended(other)).stdout).toBe('hello from beside.test\n');
    await gateway().answer(asked, once);
    expect((await gateway().ended(run)).stdout).toBe('hello from amid.test\n');
    await gateway().do({ order: 'destroy', sandbox: full });
  });

  it('a sandbox that is destroyed while its connections wait has no question that waits for it', async () => {
    const doomed = await gateway().open();
    const run = await gateway().run(doomed, 'curl -sS https://waiting.test/');
    const asked = await gateway().asked(run, 'waiting.test');
    await gateway().do({ order: 'destroy', sandbox: doomed });
    await gateway().ended(run);
    await until('no client waits', () => asked.isLeft);
    await gateway().answer(asked, once);
    expect((await world().arrivals()).filter((arrival) => JSON.stringify(arrival).includes('waiting.test'))).toEqual([]);
  });

  it('an egress thread that ends while connections wait leaves no question waiting', async () => {
    const own = another();
    const run = await own.run(await own.open(), 'curl -sS https://waiting.test/');
    const asked = await own.asked(run, 'waiting.test');
    await own.do({ order: 'stop-thread' });
    await until('no client waits', () => asked.isLeft);
  });

  it('a gateway that is killed while connections wait leaves no process, and nothing was looked up', async () => {
    await world().arrivals();
    const own = another();
    const name = await own.open();
    const run = await own.run(name, `curl -sS https://waiting.test/ & curl -sS https://other.waiting.test/`);
    await own.asked(run, 'waiting.test');
    await own.asked(run, 'other.waiting.test');
    const gatewayFile = `${basename(world().directory)}/resolv.conf`;
    expect(processesThatSee(gatewayFile)).toContain(own.process.pid);
    await own.close();
    await until('no process of the killed gateway is left', () => !processesThatSee(gatewayFile).includes(own.process.pid ?? 0));
    if (kind === 'bubblewrap') await until('no process of its sandbox is left', () => processesThatSee(name).length === 0);
    expect(await world().arrivals()).toEqual([]);
  });

  // Only a sandbox that several programs share has such processes.
  it.runIf(kind === 'docker')('a process with a mark of another program that has the sandbox open is not asked about here', async () => {
    const spec = gateway().spec();
    const [first, second] = [another(), another()];
    await first.do({ order: 'open', spec });
    await second.do({ order: 'open', spec });
    const run = await second.run(spec.name, 'curl -sS http://foreign.test/');
    const { stdout } = await second.ended(run);
    expect(stdout).toContain('no rule');
    expect([...first.questions, ...second.questions]).toEqual([]);
    // The second one has the sockets when the first one is gone, and then asks also for what began before.
    const early = await second.run(spec.name, 'until curl -sS http://foreign.test/ | grep hello; do sleep 0.2; done');
    await first.close();
    await second.answer(await second.asked(early, 'foreign.test'), once);
    expect((await second.ended(early)).stdout).toContain('hello from foreign.test');
  });
});

/** Processes, in any sandbox, that have a directory or file of the test in their file system. */
function processesThatSee(name: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/mountinfo`, 'latin1').includes(name);
      } catch {
        return false;
      }
    });
}
