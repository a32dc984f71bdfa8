import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { KubernetesApi } from '../../../src/backends/kubernetes/api.ts';
import { Credentials } from '../../../src/backends/kubernetes/credentials.ts';
import { openExec } from '../../../src/backends/kubernetes/exec-stream.ts';
import type { OpenSandbox } from '../../../src/core/sandbox.ts';
import type { AttachedCommand } from '../../../src/shell/streams/attached-command.ts';
import type { Call } from '../../fakes/kubernetes/cluster.ts';
import { describeNeeding, itNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { output, useCluster } from './rig.ts';

/** An API server that is broken, or that someone has replaced. */
describeNeeding(['openssl'], 'a hostile cluster', async () => {
  const { cluster, backend, spec, open } = await useCluster();
  const api = new KubernetesApi(new Credentials({ environment: {}, kubeconfig: cluster.kubeconfig() }));
  const path = '/api/v1/namespaces/hermetic-sandboxes/pods';
  const megabyte = 1024 * 1024;

  afterEach(() => {
    cluster.instead = undefined;
  });

  const answer = (act: (response: ServerResponse, call: Call) => void): void => {
    cluster.instead = (call, _request, response) => {
      if (!('writeHead' in response)) return false;
      act(response, call);
      return true;
    };
  };

  /** Writes for as long as the other end takes it. */
  function flood(response: ServerResponse | Duplex, piece: Buffer): void {
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  }

  describe('answers', () => {
    it('stops reading an answer without end', async () => {
      answer((response) => flood(response.writeHead(200), Buffer.alloc(megabyte, 'x')));
      await expect(api.list(path, {})).rejects.toThrow('more than');
    });

    it('stops reading a refusal without end', async () => {
      answer((response) => flood(response.writeHead(403), Buffer.alloc(megabyte, 'x')));
      await expect(api.list(path, {})).rejects.toThrow('more than');
    });

    it.each([
      ['no JSON', '<html>'],
      ['no object', '[1]'],
      ['no list', '{"items":7,"metadata":{"resourceVersion":"1"}}'],
      ['no version', '{"items":[]}'],
    ])('does not believe a list that is %s', async (_, text) => {
      answer((response) => response.writeHead(200).end(text));
      await expect(api.list(path, {})).rejects.toMatchObject({ code: 'backend/unavailable' });
    });

    it('stops asking for a list that never ends', async () => {
      let pages = 0;
      answer((response) => {
        pages += 1;
        response.writeHead(200).end('{"items":[],"metadata":{"resourceVersion":"1","continue":"more"}}');
      });
      await expect(api.list(path, {})).rejects.toMatchObject({ code: 'backend/unavailable' });
      expect(pages).toBeLessThan(1000);
    });

    it('does not follow a redirect, which would take the credentials along', async () => {
      const seen: string[] = [];
      answer((response, { query }) => {
        seen.push(String(query));
        response.writeHead(307, { location: `${cluster.address}${path}?stolen=1` }).end();
      });
      await expect(api.list(path, {})).rejects.toThrow('307');
      expect(seen.join()).not.toContain('stolen');
    });

    it('shows a message of the server on one line, cut, and without what a terminal obeys', async () => {
      const message = `\u001b[31mred\n${'x'.repeat(100_000).slice(0, 20_000)}`;
      answer((response) => response.writeHead(500).end(JSON.stringify({ message })));
      const error = (await api.list(path, {}).catch((failure: Error) => failure)) as Error;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
      expect(error.message).not.toMatch(/[\u0000-\u001f]/);
      expect(error.message.length).toBeLessThan(1200);
    });

    it('refuses a pod of another name in the place of the one that was made', async () => {
      answer((response, { verb }) => {
        if (verb === 'create') response.writeHead(201).end('{"metadata":{"name":"other","uid":"1"}}');
        else response.writeHead(404).end('{}');
      });
      await expect(open(backend(), spec())).rejects.toMatchObject({ code: 'backend/unavailable' });
    });
  });

  describe('a watch', () => {
    const events = async (act: (response: ServerResponse) => void): Promise<number> => {
      answer((response) => act(response.writeHead(200)));
      let count = 0;
      for await (const _ of api.watch(path, {}, AbortSignal.timeout(30_000))) count += 1;
      return count;
    };

    it('ends at an event without end, and at one that is none', async () => {
      await expect(events((response) => flood(response, Buffer.alloc(megabyte, 'x')))).rejects.toThrow('too long');
      await expect(events((response) => response.end('{"type":"ADDED"}\n'))).rejects.toThrow('no event');
      await expect(events((response) => response.end('nonsense\n'))).rejects.toThrow();
    });

    it('is put together from any pieces', async () => {
      const text = '{"type":"BOOKMARK","object":{"kind":"Pod"}}\n\n{"type":"ADDED","object":{"kind":"Pod"}}\n';
      const send = async (response: ServerResponse): Promise<void> => {
        for (const letter of text) response.write(letter);
        response.end();
      };
      expect(await events((response) => void send(response))).toBe(2);
    });

    itNeeding(['machines'], 'that always ends at once does not keep the server busy, and sandboxes work', async () => {
      let watches = 0;
      cluster.instead = ({ verb }, _request, response) => {
        if (verb !== 'watch' || !('writeHead' in response)) return false;
        watches += 1;
        response.writeHead(200).end();
        return true;
      };
      const sandbox = await open(backend(), spec());
      for (let round = 0; round < 10; round++) expect(await output(sandbox, 'echo works')).toBe('works\n');
      await sandbox.destroy();
      expect(watches).toBeLessThan(100);
    });
  });

  type Exec = (send: (...bytes: (number | Buffer)[]) => void, end: () => void, socket: WebSocket) => void;

  /** A command whose streams the test is the other end of. */
  async function attached(act: Exec, options: object = {}): Promise<AttachedCommand> {
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v5.channel.k8s.io', ...options });
    cluster.instead = (_call, request, socket) => {
      if ('writeHead' in socket) return false;
      sockets.handleUpgrade(request, socket, Buffer.alloc(0), (accepted) => {
        const send = (...parts: (number | Buffer)[]): void =>
          accepted.send(Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : part))));
        act(send, () => accepted.close(), accepted);
      });
      return true;
    };
    return await openExec(api, `${path}/any/exec?command=true`, { pingEveryMs: 200 });
  }

  describe('the streams of a command', () => {
    const textOf = async (stream: AttachedCommand['stdout']): Promise<string> => Buffer.concat(await stream.toArray()).toString();

    it('pass on output and the code, also when they come in one piece with the answer', async () => {
      const status = { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '7' }] } };
      const command = await attached((send, end) => {
        send(1, Buffer.from('out'));
        send(2, Buffer.from('err'));
        send(3, Buffer.from(JSON.stringify(status)));
        end();
      });
      expect(await Promise.all([textOf(command.stdout), textOf(command.stderr)])).toEqual(['out', 'err']);
      expect(await command.exitCode()).toBe(7);
    });

    it.each<[string, Exec]>([
      ['end without a status', (_send, end) => end()],
      ['use an unknown channel', (send) => send(9, Buffer.from('?'))],
    ])('are lost when they %s', async (_, act) => {
      const command = await attached(act);
      await expect(textOf(command.stdout)).rejects.toMatchObject({ code: 'sandbox/lost' });
    });

    it('are lost when the other end is silent, and stay when it answers pings', async () => {
      const command = await attached(() => undefined, { autoPong: false });
      await expect(textOf(command.stdout)).rejects.toMatchObject({ code: 'sandbox/lost' });
      let pings = 0;
      const alive = await attached((send, _end, socket) => {
        socket.on('ping', () => {
          pings += 1;
          if (pings === 4) send(1, Buffer.from('late'));
        });
      });
      const [first] = (await alive.stdout.take(1).toArray()) as Buffer[];
      expect(String(first)).toBe('late');
      alive.destroy();
    });

    it.each([
      '',
      'nonsense',
      '{"status":"Failure","reason":"InternalError","message":"no"}',
      '{"status":"Failure","reason":"NonZeroExitCode"}',
    ])('never make a code of the status %j', async (status) => {
      const command = await attached((send, end) => {
        send(3, Buffer.from(status));
        end();
      });
      await textOf(command.stdout);
      expect(await command.exitCode().catch(() => undefined)).toBeUndefined();
    });

    it('hold no more of a flood than a few buffers while no one reads', async () => {
      let sent = 0;
      const piece = Buffer.alloc(64 * 1024, 'x');
      const command = await attached((_send, _end, socket) => {
        const more = (): void =>
          socket.send(Buffer.concat([Buffer.of(1), piece]), (error) => {
            sent += piece.length;
            if (!error && sent < 256 * megabyte) setImmediate(more);
          });
        more();
      });
      let before = -1;
      const isStill = (): boolean => {
        const same = before === sent;
        before = sent;
        return same;
      };
      await until('nothing moves any more', isStill, { everyMs: 300 });
      expect(sent).toBeLessThan(32 * megabyte);
      expect(command.stdout.readableLength).toBeLessThan(megabyte);
      command.destroy();
    });
  });

  itNeeding(
    ['machines'],
    'leaves nothing behind when the connection is cut at any step of opening, or opens all the same',
    async () => {
      let isOver = false;
      for (let step = 1; !isOver && step < 40; step++) {
        const wanted = spec({ persistent: false });
        let calls = 0;
        cluster.instead = (_call, _request, response) => {
          calls += 1;
          if (calls !== step) return false;
          response.destroy();
          return true;
        };
        const program = backend();
        const opened: OpenSandbox | Error = await open(program, wanted).catch((error: Error) => error);
        isOver = calls < step;
        cluster.instead = undefined;
        if (!(opened instanceof Error)) {
          expect(await output(opened, 'echo works')).toBe('works\n');
          await opened.close();
        }
        for (const left of await program.list()) if (left.name === wanted.name) await left.destroy();
        expect(cluster.pods.find(`hermetic-${wanted.name}`)).toBeUndefined();
      }
      expect(isOver).toBe(true);
    },
    240_000,
  );

  itNeeding(['machines'], 'finds the pod that was made though the answer never arrived, and makes no second one', async () => {
    const wanted = spec();
    let isCut = false;
    cluster.instead = ({ verb, resource }, _request, response) => {
      if (isCut || verb !== 'create' || resource !== 'pods' || !('writeHead' in response)) return false;
      isCut = true;
      const { socket } = response;
      response.end = (() => {
        socket?.destroy();
        return response;
      }) as typeof response.end;
      return false;
    };
    const sandbox = await open(backend(), wanted);
    expect(isCut).toBe(true);
    expect(await output(sandbox, 'echo works')).toBe('works\n');
    await sandbox.destroy();
  });
});
