import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { credentialHeaders, placeholderFor } from '../../src/egress/bound-secret.ts';
import { HostCertificates, makeAuthority } from '../../src/egress/certificates.ts';
import { SessionRig } from './session-rig.ts';

const value = 'ghp_5uwJp8RTFyfm1wFTEhLQGcYz47q1QEasnFRe';
const prefix = 'ghp_';
const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_'];
/** Enough for more ends of pieces than the alphabet has letters. */
const size = 1_200_000;
const rounds = 4;

/** A host with a secret that keeps files, as one with repositories does. It never repeats a header. */
async function fileHost(): Promise<{ rig: SessionRig; trusted: string }> {
  const [authority, world] = [makeAuthority('Hermetic egress'), makeAuthority('World')];
  const secret = {
    ...{ name: 'TOKEN', value, placeholder: placeholderFor('TOKEN', value.length, 'key', prefix) },
    ...{ destinations: [{ host: 'api.test', port: 443 }], headers: credentialHeaders, query: false, path: false, exclusive: false },
  };
  const files = new Map<string, Buffer>();
  const { certificate: cert, key } = new HostCertificates(world).for('api.test');
  const server = createHttpsServer({ cert, key }, (request, response) => {
    const path = request.url ?? '';
    if (request.method === 'PUT') {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        files.set(path, Buffer.concat(pieces));
        response.end();
      });
      return;
    }
    response.flushHeaders();
    response.write(files.get(path) ?? '');
    response.end();
  });
  const rig = await new SessionRig({ allow: ['api.test'], vault: { authority, secrets: [secret] }, roots: [world.certificate] }).start();
  await rig.serve(443, server);
  onTestFinished(async () => await rig.stop());
  return { rig, trusted: authority.certificate };
}

it('a program inside learns no letter of a value from the sizes of the chunks of answers with contents of its choice', async () => {
  const { rig, trusted } = await fileHost();
  const exchange = async (head: string, body: string | Buffer = ''): Promise<Buffer> => {
    const { peer } = await rig.tunnel('api.test:443');
    const socket = connect({ socket: peer.socket, servername: 'api.test', ca: trusted, ALPNProtocols: ['http/1.1'] });
    socket.write(`${head} HTTP/1.1\r\nHost: api.test\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`);
    socket.write(body);
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  };
  /** Where the chunks of the body of an answer end. */
  const endsOf = async (path: string): Promise<number[]> => {
    const answer = await exchange(`GET ${path}`);
    const ends: number[] = [];
    let at = answer.indexOf('\r\n\r\n') + 4;
    for (let total = 0; ; ) {
      const end = answer.indexOf('\r\n', at);
      const length = Number.parseInt(answer.subarray(at, end).toString(), 16);
      if (!length) return ends;
      total += length;
      ends.push(total);
      at = end + 2 + length + 2;
    }
  };

  await exchange('PUT /plain', Buffer.alloc(size, '.'));
  const neutral = (await endsOf('/plain')).filter((end) => end < size);
  expect(neutral.length).toBeGreaterThan(alphabet.length);
  let known = prefix;
  for (let round = 0; round < rounds; round++) {
    const file = Buffer.alloc(size, '.');
    const tried = alphabet.map((letter, index) => {
      const end = neutral[index + 1] ?? 0;
      file.write(known + letter, end - known.length - 1);
      return { letter, end };
    });
    await exchange('PUT /guess', file);
    const ends = new Set(await endsOf('/guess'));
    // A piece that ends before its guess, and not after it, was held back because of the guess.
    const right = tried.filter(({ end }) => !ends.has(end) && ends.has(end - known.length - 1));
    if (right.length === 1) known += right[0]?.letter;
  }
  expect(known).toBe(prefix);
  // Nothing of it needed the secret, and it is noted all the same.
  expect(rig.allowed.take()).toMatchObject([{ host: 'api.test', port: 443, count: 2 + 2 * rounds, secrets: [] }]);
});
