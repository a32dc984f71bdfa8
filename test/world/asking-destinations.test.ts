import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { type Asked, describeAsking } from './asking-gateway.ts';
import { badAnswers, forbidden } from './forbidden.ts';

const once = { allowed: true, until: 'command-ends' } as const;
const no = { allowed: false, reason: 'refused', by: 'telegram:4711' } as const;

/** Asks the proxy for each target, one after the other, and prints the status of each answer. */
const connectTo = (targets: readonly string[]): string => `python3 - <<'END'
import json, socket
for target in json.loads(${JSON.stringify(JSON.stringify(targets))}):
  with socket.create_connection(('127.0.0.1', 3128)) as connection:
    connection.sendall(f'CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n'.encode())
    print(connection.recv(4096).split(b' ')[1].decode(), target, flush=True)
END`;

/** TLS to a host, with the name of another one in it. Prints what came of it. */
const tlsTo = (host: string, name: string): string => `python3 - <<'END'
import socket, ssl
context = ssl._create_unverified_context()
connection = socket.create_connection(('127.0.0.1', 3128))
connection.sendall(b'CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}:443\\r\\n\\r\\n')
print(connection.recv(4096).split(b' ')[1].decode(), flush=True)
try: context.wrap_socket(connection, server_hostname='${name}'); print('connected')
except OSError: print('cut')
END`;

await describeAsking(({ world, gateway, sandbox }) => {
  const questionsOf = (run: number): string[] =>
    gateway()
      .questions.filter((one) => one.run === run)
      .map(({ request }) => `${request.host}:${request.port}`);

  const askedAbout = async (run: number, destination: string): Promise<Asked> =>
    await until(`${destination} is asked about`, () =>
      gateway().questions.find((one) => one.run === run && `${one.request.host}:${one.request.port}` === destination),
    );

  it('people are never asked about an address that no sandbox reaches, however it is written', async () => {
    await Promise.all([world().arrivals(), world().baitArrivals()]);
    const run = await gateway().run(sandbox(), connectTo(forbidden.flatMap((host) => [`${host}:80`, `${host}:7070`])));
    const { stdout, stderr } = await gateway().ended(run);
    const lines = stdout.trim().split('\n');
    expect(lines, stderr).toHaveLength(2 * forbidden.length);
    for (const line of lines) expect(line).toMatch(/^40[03] /);
    expect(questionsOf(run)).toEqual([]);
    expect([...(await world().arrivals()), ...(await world().baitArrivals())]).toEqual([]);
  });

  it('a yes to a name connects to no address that sandboxes never reach', async () => {
    const names = Object.keys(badAnswers);
    for (const [name, answer] of Object.entries(badAnswers)) await world().answerName(`${name}.asked.test`, answer);
    await Promise.all([world().arrivals(), world().baitArrivals()]);
    const run = await gateway().run(sandbox(), connectTo(names.map((name) => `${name}.asked.test:443`)));
    for (const name of names) await gateway().answer(await gateway().asked(run, `${name}.asked.test`), once);
    const { stdout, stderr } = await gateway().ended(run);
    expect(stdout.trim().split('\n'), stderr).toEqual(names.map((name) => `403 ${name}.asked.test:443`));
    expect((await world().arrivals()).filter(({ kind }) => kind !== 'question')).toEqual([]);
    expect(await world().baitArrivals()).toEqual([]);
  });

  it('a yes to a host is one to this port of it, and to no name below it, above it or like it', async () => {
    await world().arrivals();
    const others = ['one.yes.test:22', 'x.one.yes.test:443', 'yes.test:443', 'xone.yes.test:443', '203.0.113.10:443'];
    const run = await gateway().run(sandbox(), connectTo(['one.yes.test:443', 'ONE.yes.test.:443', ...others]));
    await gateway().answer(await gateway().asked(run, 'one.yes.test'), once);
    for (const other of others) await gateway().answer(await askedAbout(run, other), no);
    const { stdout } = await gateway().ended(run);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['200', '200', ...others.map(() => '403')]);
    expect(questionsOf(run)).toEqual(['one.yes.test:443', ...others]);
  });

  it('a connection that was allowed by a yes is cut when TLS names another host', async () => {
    await world().arrivals();
    const run = await gateway().run(sandbox(), `${tlsTo('front.test', 'hidden.test')}\n${tlsTo('front.test', 'front.test')}`);
    await gateway().answer(await gateway().asked(run, 'front.test'), once);
    const { stdout, stderr } = await gateway().ended(run);
    expect(stdout, stderr).toBe('200\ncut\n200\nconnected\n');
    const names = (await world().arrivals()).flatMap((arrival) => (arrival.kind === 'tls-name' ? [arrival.name] : []));
    expect(names).toEqual(['front.test']);
  });
});
