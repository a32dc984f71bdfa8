import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { describeAsking } from './asking-gateway.ts';
import type { Arrival } from './records.ts';

const names = (arrivals: readonly Arrival[]): string[] =>
  arrivals.flatMap((arrival) => (arrival.kind === 'question' ? [arrival.name] : []));
const once = { allowed: true, until: 'command-ends' } as const;
const revocable = { allowed: true, until: 'revoked' } as const;
const no = { allowed: false, reason: 'refused', by: 'telegram:4711' } as const;

/** A program that connects to hosts by each way out, one after the other, and prints what came of it. */
const allWays = `python3 - <<'END'
import base64, os, socket
def tell(way, connection, data, want):
  connection.settimeout(100)
  try:
    connection.sendall(data)
    answer = b''
    while want not in answer:
      piece = connection.recv(4096)
      if not piece: break
      answer += piece
    print(way, 'arrived' if want in answer else answer.split(b'\\r')[0].decode('latin1') or 'closed', flush=True)
  except ConnectionResetError:
    print(way, 'reset', flush=True)
def proxy(): return socket.create_connection(('127.0.0.1', 3128))
def tunnelled(request, echo):
  connection = proxy()
  connection.sendall(request)
  first = connection.recv(4096)
  return connection, first
tell('http', proxy(), b'GET http://http.ways.test/ HTTP/1.1\\r\\nHost: http.ways.test\\r\\nConnection: close\\r\\n\\r\\n', b'hello from http.ways.test')
connection, first = tunnelled(b'CONNECT connect.ways.test:5432 HTTP/1.1\\r\\nHost: connect.ways.test:5432\\r\\n\\r\\n', b'')
if b' 200 ' in first: tell('connect', connection, b'echo', b'echo')
else: print('connect', first.split(b'\\r')[0].decode(), flush=True)
connection = proxy()
connection.sendall(b'\\x05\\x01\\x00')
connection.recv(2)
name = b'socks.ways.test'
connection.sendall(b'\\x05\\x01\\x00\\x03' + bytes([len(name)]) + name + (5432).to_bytes(2, 'big'))
code = connection.recv(10)[1]
if code == 0: tell('socks', connection, b'echo', b'echo')
else: print('socks', code, flush=True)
tell('name', socket.create_connection(('name.ways.test', 22)), b'', b'SSH-2.0')
key = base64.b64encode(os.urandom(16))
tell('websocket', proxy(), b'GET http://websocket.ways.test/ HTTP/1.1\\r\\nHost: websocket.ways.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: ' + key + b'\\r\\n\\r\\n', b'hello from websocket.ways.test')
END`;

/** Waits inside until the test lets it go on. */
const untilTold = (name: string): string => `until [ -e ~/${name} ]; do sleep 0.05; done`;

await describeAsking(({ world, gateway, sandbox }) => {
  const tell = async (name: string): Promise<void> => void (await gateway().ended(await gateway().run(sandbox(), `touch ~/${name}`)));
  const refuse = async (run: number, host: string): Promise<void> => await gateway().answer(await gateway().asked(run, host), no);

  it('a command waits at a host that no rule names, and goes on after the yes; before, the name is not looked up', async () => {
    await world().arrivals();
    const run = await gateway().run(sandbox(), 'curl -sS https://wanted.test/; curl -sS https://wanted.test/');
    const asked = await gateway().asked(run, 'wanted.test');
    expect(asked.request).toEqual({ host: 'wanted.test', port: 443, program: 'curl' });
    expect(await world().arrivals()).toEqual([]);
    await gateway().answer(asked, once);
    const { stdout, stderr, connections } = await gateway().ended(run);
    expect(stdout, stderr).toBe('hello from wanted.test\nhello from wanted.test\n');
    expect(names(await world().arrivals())).toContain('wanted.test');
    expect(gateway().questions.filter((one) => one.run === run)).toHaveLength(1);
    expect(connections).toEqual({
      blocked: [],
      allowed: [{ host: 'wanted.test', port: 443, count: 2, bytes: expect.any(Number), rule: undefined, secrets: [], placeholders: [] }],
    });
    expect(connections.allowed[0]?.bytes).toBeGreaterThan(1_000);
  });

  it('connections of every kind wait for their answer and are made after a yes', async () => {
    const run = await gateway().run(sandbox(), allWays);
    for (const way of ['http', 'connect', 'socks', 'name', 'websocket']) {
      const asked = await gateway().asked(run, `${way}.ways.test`);
      expect(asked.request.program).toContain('python3');
      await gateway().answer(asked, once);
    }
    const { stdout, stderr } = await gateway().ended(run);
    expect(stdout, stderr).toBe('http arrived\nconnect arrived\nsocks arrived\nname arrived\nwebsocket arrived\n');
  });

  it('connections of every kind are refused after a no, and the command is told which, why and by whom', async () => {
    await world().arrivals();
    const run = await gateway().run(sandbox(), allWays);
    for (const way of ['http', 'connect', 'socks', 'name', 'websocket']) await refuse(run, `${way}.ways.test`);
    const { stdout, connections } = await gateway().ended(run);
    const lines = ['http HTTP/1.1 403 Blocked', 'connect HTTP/1.1 403 Blocked', 'socks 2', 'name reset', 'websocket HTTP/1.1 403 Blocked'];
    expect(stdout.trim().split('\n')).toEqual(lines);
    const port = (way: string): number => ({ connect: 5432, socks: 5432, name: 22 })[way] ?? 80;
    expect(connections.blocked).toEqual(
      ['http', 'connect', 'socks', 'name', 'websocket'].map((way) => ({
        ...{ host: `${way}.ways.test`, port: port(way), reason: 'refused', count: 1, by: 'telegram:4711' },
      })),
    );
    expect(await world().arrivals()).toEqual([]);
  });

  it('all connections of a command to a host wait for one answer', async () => {
    const five = Array.from({ length: 5 }, () => 'curl -sS http://many.test/ &').join(' ');
    const run = await gateway().run(sandbox(), `${five} curl -sS http://other.test/; wait`);
    const asked = await gateway().asked(run, 'many.test');
    await refuse(run, 'other.test');
    await gateway().answer(asked, once);
    const { stdout } = await gateway().ended(run);
    expect(stdout.match(/hello from many\.test/g)).toHaveLength(5);
    expect(stdout).toContain('a person was asked and said no');
    expect(gateway().questions.filter((one) => one.run === run)).toHaveLength(2);
  });

  it('a yes for one command covers no other one that runs at the same time', async () => {
    const first = await gateway().run(sandbox(), 'curl -sS http://shared.test/; sleep 100');
    await gateway().answer(await gateway().asked(first, 'shared.test'), once);
    await gateway().printed(first, 'hello from shared.test');
    const second = await gateway().run(sandbox(), 'curl -sS http://shared.test/');
    await refuse(second, 'shared.test');
    expect((await gateway().ended(second)).stdout).toContain('said no');
    await gateway().do({ order: 'kill', run: first });
  });

  it('a process that a command left running is still asked about for that command', async () => {
    const first = await gateway().run(sandbox(), `(${untilTold('ended')}; exec curl -sS -o ~/late http://late.test/) >/dev/null 2>&1 &`);
    await gateway().ended(first);
    await tell('ended');
    await gateway().answer(await gateway().asked(first, 'late.test'), once);
    const second = await gateway().run(sandbox(), 'until grep -s hello ~/late; do sleep 0.1; done');
    expect((await gateway().ended(second)).stdout).toBe('hello from late.test\n');
  });

  it('a process that a command left running is asked about for that command, also after very many others', async () => {
    const first = await gateway().run(
      sandbox(),
      `(${untilTold('much-later')}; exec curl -sS -o ~/later http://later.test/) >/dev/null 2>&1 &`,
    );
    await gateway().ended(first);
    for (let number = 0; number < 60; number++) await gateway().ended(await gateway().run(sandbox(), 'true'));
    await tell('much-later');
    await gateway().answer(await gateway().asked(first, 'later.test'), once);
    const second = await gateway().run(sandbox(), 'until grep -s hello ~/later; do sleep 0.1; done');
    expect((await gateway().ended(second)).stdout).toBe('hello from later.test\n');
  });

  it('a process without its mark is asked about for the only command that runs, and blocked when several run', async () => {
    const stray = 'ulimit -x 5; exec curl -sS http://stray.test/';
    const alone = await gateway().run(sandbox(), stray);
    await gateway().answer(await gateway().asked(alone, 'stray.test'), once);
    expect((await gateway().ended(alone)).stdout).toBe('hello from stray.test\n');
    const other = await gateway().run(sandbox(), 'echo begun; sleep 100');
    await gateway().printed(other, 'begun');
    const { stdout, connections } = await gateway().ended(await gateway().run(sandbox(), stray));
    expect(stdout).toContain('no rule');
    expect(connections.blocked).toEqual([{ host: 'stray.test', port: 80, reason: 'unlisted', count: 1 }]);
    await gateway().do({ order: 'kill', run: other });
  });

  it('a command with no one to ask is blocked at once, and so is one whose asking fails', async () => {
    const unasked = await gateway().ended(await gateway().run(sandbox(), 'curl -sS http://unasked.test/', false));
    expect(unasked.stdout).toContain('no rule');
    const run = await gateway().run(sandbox(), 'curl -sS http://broken.test/');
    await gateway().answer(await gateway().asked(run, 'broken.test'), undefined);
    expect((await gateway().ended(run)).connections.blocked).toEqual([{ host: 'broken.test', port: 80, reason: 'unlisted', count: 1 }]);
  });

  it('people are never asked about denied hosts, this machine, private addresses and names without a dot', async () => {
    await gateway().rules({ deny: ['*.denied.test'] });
    const hosts = ['a.denied.test', 'localhost', 'x.localhost', 'printer.local', '1.0.168.192.in-addr.arpa', 'intranet', '10.66.0.10'];
    const others = ['127.0.0.1', '169.254.169.254', '203.0.113.1', '[::1]', '[fd66::a]'];
    const commands = [...hosts, ...others].map((host) => `curl -sS -x http://127.0.0.1:3128 --noproxy '' 'http://${host}/'`);
    const run = await gateway().run(sandbox(), commands.join('; '));
    const { stdout, connections } = await gateway().ended(run);
    expect(stdout.trim().split('\n')).toHaveLength(commands.length);
    expect(connections.blocked.reduce((sum, { count }) => sum + count, 0)).toBe(commands.length);
    expect(gateway().questions.filter((one) => one.run === run)).toEqual([]);
    await gateway().rules({});
  });

  it('a client that leaves is noticed, and its answer counts for the next try', async () => {
    const run = await gateway().run(sandbox(), 'curl -sS -m 1 https://slow.test/; echo left; sleep 100');
    const asked = await gateway().asked(run, 'slow.test');
    await gateway().printed(run, 'left');
    await until('the client was noticed to be gone', () => asked.isLeft);
    await gateway().answer(asked, once);
    await gateway().do({ order: 'kill', run });
    const { connections } = await gateway().ended(run);
    expect(connections.blocked).toEqual([{ host: 'slow.test', port: 443, reason: 'not-awaited', count: 1 }]);
    const again = await gateway().run(sandbox(), `curl -sS -m 1 https://slow.test/; ${untilTold('answered')}; curl -sS https://slow.test/`);
    const left = await gateway().asked(again, 'slow.test');
    await until('the client was noticed to be gone', () => left.isLeft);
    await gateway().answer(left, once);
    await tell('answered');
    const next = await gateway().ended(again);
    expect(next.stdout).toBe('hello from slow.test\n');
  });

  it('a client that has ended its half, or was reset with unread data, is told from one that still waits', async () => {
    const half = `python3 - <<'END'
import os, socket, struct, time
waits = socket.create_connection(('127.0.0.1', 3128))
waits.sendall(b'GET http://half.test/ HTTP/1.1\\r\\nHost: half.test\\r\\nConnection: close\\r\\n\\r\\n')
waits.shutdown(socket.SHUT_WR)
gone = socket.create_connection(('127.0.0.1', 3128))
gone.sendall(b'CONNECT gone.test:443 HTTP/1.1\\r\\nHost: gone.test:443\\r\\n\\r\\n' + b'x' * 200000)
while not os.path.exists(os.path.expanduser('~/asked')): time.sleep(0.05)
gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
gone.close()
print(waits.makefile().read().splitlines()[-1])
END`;
    const run = await gateway().run(sandbox(), half);
    const [waits, gone] = [await gateway().asked(run, 'half.test'), await gateway().asked(run, 'gone.test')];
    await tell('asked');
    await until('the reset is noticed', () => gone.isLeft);
    expect(waits.isLeft).toBe(false);
    await gateway().answer(waits, once);
    expect((await gateway().ended(run)).stdout).toBe('hello from half.test\n');
  });

  it('rules that change while connections wait decide about them', async () => {
    const run = await gateway().run(sandbox(), 'curl -sS http://yes.rule.test/ & curl -sS http://no.rule.test/; wait');
    const [allowed, denied] = [await gateway().asked(run, 'yes.rule.test'), await gateway().asked(run, 'no.rule.test')];
    await gateway().rules({ allow: ['*.rule.test'], deny: ['no.rule.test'] });
    const { stdout, connections } = await gateway().ended(run);
    expect(stdout).toContain('hello from yes.rule.test');
    expect(stdout).toContain('network.deny');
    expect(connections).toEqual({ blocked: [{ host: 'no.rule.test', port: 80, reason: 'denied', count: 1 }], allowed: [] });
    await until('no client waits', () => allowed.isLeft && denied.isLeft);
    await gateway().rules({});
  });

  it('connections that rules allow are told too when the rules say so', async () => {
    await gateway().rules({ allow: ['*.noted.test'], notesAllowed: true });
    const run = await gateway().run(sandbox(), 'for i in 1 2 3; do curl -sS http://a.noted.test/; done');
    const { connections } = await gateway().ended(run);
    expect(connections.allowed).toEqual([
      { host: 'a.noted.test', port: 80, count: 3, bytes: expect.any(Number), rule: '*.noted.test', secrets: [], placeholders: [] },
    ]);
    expect(connections.allowed[0]?.bytes).toBeGreaterThan(300);
    await gateway().rules({});
  });

  it('a pass that is taken back cuts open connections, and a new one is asked about', async () => {
    const hold =
      'python3 -c \'import socket; s = socket.create_connection(("tunnel.test", 22)); print(s.recv(9), flush=True); s.settimeout(100)\ntry: print("end" if s.recv(1000) and not s.recv(1) else "data")\nexcept OSError: print("cut")\'; curl -sS http://tunnel.test/';
    const run = await gateway().run(sandbox(), hold);
    await gateway().answer(await gateway().asked(run, 'tunnel.test'), revocable);
    await gateway().printed(run, 'SSH-2.0');
    const before = gateway().checks;
    await until('the pass is checked', () => gateway().checks > before);
    await gateway().do({ order: 'checks', answer: { allowed: false, reason: 'unlisted' } });
    await gateway().printed(run, 'cut');
    await gateway().do({ order: 'checks', answer: revocable });
    const [, second] = await until('the next one is asked about', () => {
      const asked = gateway().questions.filter((one) => one.run === run);
      return asked.length === 2 ? asked : undefined;
    });
    if (second) await gateway().answer(second, no);
    expect((await gateway().ended(run)).connections.blocked).toEqual([
      { host: 'tunnel.test', port: 22, reason: 'unlisted', count: 1 },
      { host: 'tunnel.test', port: 80, reason: 'refused', count: 1, by: 'telegram:4711' },
    ]);
  });
});
