import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { follow, useRig } from './rig.ts';

const names = [
  'plain',
  'with blank',
  'line\nbreak',
  '-dash',
  '--help',
  'ünïcødé 日本 🦀',
  `it's "quoted"`,
  '$HOME',
  '`id`',
  '*',
  '?',
  '~',
  '\\',
  '#hash',
  'a;b&c|d',
  '.hidden',
  'trailing newline\n',
  '=',
  '%s',
];

export function filesContract(engine: TestEngine): void {
  const rig = useRig(engine);
  const hash = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

  describe('reading and writing', () => {
    it('keeps every byte of a written file', async () => {
      const bytes = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, index) => index)), Buffer.from('\r\n\n\0\0')]);
      await rig.sandbox.writeFile('bytes', bytes);
      expect(await rig.sandbox.readFile('bytes')).toEqual(bytes);
      expect(await rig.output('wc -c <bytes')).toBe(`${bytes.length}\n`);
    });

    it('writes and reads an empty file', async () => {
      await rig.sandbox.writeFile('empty', '');
      expect(await rig.sandbox.readFile('empty')).toEqual(Buffer.alloc(0));
    });

    it('writes text as UTF-8', async () => {
      await rig.sandbox.writeFile('text', 'ünï 🦀\n');
      expect((await rig.sandbox.readFile('text')).toString()).toBe('ünï 🦀\n');
    });

    it.each(names)('writes and reads a file called %j', async (name) => {
      await rig.sandbox.writeFile(name, `content of ${name}`);
      expect((await rig.sandbox.readFile(name)).toString()).toBe(`content of ${name}`);
      expect(await rig.output('cat -- "./$1"', { args: [name] })).toBe(`content of ${name}`);
      const absolute = `${rig.workdir}/in ${name}/${name}`;
      await rig.sandbox.writeFile(absolute, 'absolute');
      expect((await rig.sandbox.readFile(absolute)).toString()).toBe('absolute');
    });

    it('writes and reads a file of 50 MB', async () => {
      const data = Buffer.alloc(50_000_000, randomBytes(1_000_003));
      await rig.sandbox.writeFile('large', data);
      expect(hash(await rig.sandbox.readFile('large'))).toBe(hash(data));
      await rig.output('rm large');
    });

    it('resolves a relative path from the directory of the session', async () => {
      await rig.output('mkdir -p sub; cd sub');
      await rig.sandbox.writeFile('here', 'in sub');
      await rig.output('cd ..');
      expect((await rig.sandbox.readFile('sub/here')).toString()).toBe('in sub');
      expect((await rig.sandbox.readFile('./sub/../sub//here')).toString()).toBe('in sub');
    });

    it('reads and writes files without touching the state of the session', async () => {
      await rig.output('export target=mine directory=mine temporary=mine; cat() { echo hijacked; }; alias mv=false');
      await rig.sandbox.writeFile('stateless', 'x');
      expect((await rig.sandbox.readFile('stateless')).toString()).toBe('x');
      expect(await rig.output('echo $target $directory $temporary; unset target directory temporary; unset -f cat; unalias mv')).toBe(
        'mine mine mine\n',
      );
    });

    it('reads and writes files under unusual shell options', async () => {
      await rig.output(
        'shopt -s nullglob failglob nocasematch extglob; umask 077; export IFS=x TMPDIR=/nowhere POSIXLY_CORRECT=1 LC_ALL=C PATH=/nowhere',
      );
      await rig.sandbox.writeFile('axb', 'unusual');
      expect((await rig.sandbox.readFile('axb')).toString()).toBe('unusual');
      await rig.output(
        'shopt -u nullglob failglob nocasematch extglob; umask 022; unset IFS TMPDIR POSIXLY_CORRECT LC_ALL; export PATH=/usr/local/bin:/usr/bin:/bin',
      );
    });

    it('reads and writes ten files at the same time', async () => {
      const all = Array.from({ length: 10 }, (_, index) => `parallel-${index}`);
      await Promise.all(all.map((name) => rig.sandbox.writeFile(name, name.repeat(20_000))));
      const read = await Promise.all(all.map((name) => rig.sandbox.readFile(name)));
      expect(read.map(String)).toEqual(all.map((name) => name.repeat(20_000)));
    });
  });

  describe('reading', () => {
    it('reads through links inside the sandbox', async () => {
      await rig.output(
        'mkdir -p real; echo linked >real/file; ln -sfn real directory-link; ln -sf directory-link/file link; ln -sf "$PWD/link" absolute-link',
      );
      for (const path of ['link', 'absolute-link', 'directory-link/file']) {
        expect((await rig.sandbox.readFile(path)).toString()).toBe('linked\n');
      }
    });

    it.each(['missing', 'missing/file', 'plain-file/below', 'broken-link', '/nonexistent', ''])(
      'reports that %j does not exist when it is read',
      async (path) => {
        await rig.output('touch plain-file; ln -sfn nowhere broken-link');
        await expect(rig.sandbox.readFile(path)).rejects.toMatchObject({ code: path === '' ? 'file/is-directory' : 'file/no-file' });
      },
    );

    it.each(['a-directory', 'a-directory/', '/', '.', 'link-to-directory'])(
      'reports that %j is a directory when it is read',
      async (path) => {
        await rig.output('mkdir -p a-directory; ln -sfn a-directory link-to-directory');
        await expect(rig.sandbox.readFile(path)).rejects.toMatchObject({ code: 'file/is-directory' });
      },
    );

    it.each(['pipe', '/dev/zero', '/dev/null', 'loop'])(
      'refuses to read %j, which is not a regular file, without hanging',
      async (path) => {
        await rig.output('[[ -e pipe ]] || mkfifo pipe; ln -sfn loop loop');
        await expect(rig.sandbox.readFile(path)).rejects.toMatchObject({ code: expect.stringMatching(/^file\/(failed|no-file)$/) });
      },
    );

    it('refuses to read a file that is too large for memory', async () => {
      await rig.output('truncate -s 10G sparse');
      await expect(rig.sandbox.readFile('sparse')).rejects.toMatchObject({
        code: 'file/failed',
        message: expect.stringContaining('larger'),
      });
      await rig.output('rm sparse');
    });

    it('refuses a path with a NUL byte', async () => {
      await expect(rig.sandbox.readFile('a\0b')).rejects.toMatchObject({ code: 'sandbox/bad-command' });
    });

    it('reads files of /proc', async () => {
      expect((await rig.sandbox.readFile('/proc/self/status')).toString()).toMatch(/^Name:/);
    });
  });

  describe('writing', () => {
    it('creates the parent directories of a written file', async () => {
      await rig.sandbox.writeFile('one/two/three', 'deep');
      expect(await rig.output('cat one/two/three')).toBe('deep');
    });

    it('keeps the mode of an existing file and gives a new file the usual mode', async () => {
      await rig.output('echo old >script; chmod 751 script; umask 022');
      await rig.sandbox.writeFile('script', 'new');
      await rig.sandbox.writeFile('fresh', 'new');
      expect(await rig.output('stat -c %a script fresh; cat script')).toBe('751\n644\nnew');
    });

    it('writes through a link and keeps the link, even when its target does not exist', async () => {
      await rig.output(
        'mkdir -p target; echo old >target/file; ln -sfn target/file write-link; ln -sfn target/new dangling; ln -sfn write-link second',
      );
      await rig.sandbox.writeFile('second', 'through');
      await rig.sandbox.writeFile('dangling', 'created');
      expect(await rig.output('cat target/file target/new; readlink write-link dangling second')).toBe(
        'throughcreatedtarget/file\ntarget/new\nwrite-link\n',
      );
    });

    it.each(['a-directory', 'a-directory/', '/', '.'])('reports that %j is a directory when it is written', async (path) => {
      await rig.output('mkdir -p a-directory');
      await expect(rig.sandbox.writeFile(path, 'x')).rejects.toMatchObject({ code: 'file/is-directory' });
    });

    it.each(['plain-file/below', 'loop', '/proc/nope', 'pipe', 'socket'])(
      'refuses to write %j with a reason and changes nothing',
      async (path) => {
        await rig.output('echo kept >plain-file; ln -sfn loop loop; [[ -e pipe ]] || mkfifo pipe');
        await rig.output(
          '[[ -e socket ]] || perl -MIO::Socket::UNIX -e \'IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die $!\'',
        );
        await expect(rig.sandbox.writeFile(path, 'x')).rejects.toMatchObject({
          code: 'file/failed',
          message: expect.stringContaining(path),
        });
        expect(await rig.output('cat plain-file; [[ -p pipe && -L loop && -S socket ]] && echo same')).toBe('kept\nsame\n');
      },
    );

    it('leaves no temporary file behind after a write succeeds or fails', async () => {
      await rig.output('mkdir tidy; mkdir tidy/locked');
      await rig.sandbox.writeFile('tidy/file', 'x');
      await expect(rig.sandbox.writeFile('tidy/locked', 'x')).rejects.toMatchObject({ code: 'file/is-directory' });
      await expect(rig.sandbox.writeFile('tidy/file/below', 'x')).rejects.toMatchObject({ code: 'file/failed' });
      expect(await rig.output('ls -A tidy')).toBe('file\nlocked\n');
    });

    it.runIf(engine.backend.traits.disposable)('keeps the old content of a file when the disk is full', async () => {
      await rig.output('mkdir /run/full; echo original >/run/full/file; cat /dev/zero >/run/filler || true');
      const writing = rig.sandbox.writeFile('/run/full/file', Buffer.alloc(1_000_000));
      await expect(writing).rejects.toMatchObject({ code: 'file/failed', message: expect.stringContaining('No space left') });
      expect(await rig.output('ls -A /run/full; cat /run/full/file; rm /run/filler')).toBe('file\noriginal\n');
    });

    it('applies the umask of the session to a new file and keeps the owner of an existing one', async () => {
      await rig.output('umask 077');
      await rig.sandbox.writeFile('private', 'x');
      await rig.output('umask 022; touch owned; chown 65534:65534 owned 2>/dev/null; stat -c %u:%g owned >before');
      await rig.sandbox.writeFile('owned', 'x');
      expect(await rig.output('stat -c %a private; stat -c %u:%g owned | cmp - before')).toBe('600\n');
    });

    it('shows a reader the old content or the new one, never a part', async () => {
      const size = 2_000_000;
      await rig.sandbox.writeFile('watched', Buffer.alloc(size, 'a'));
      const watcher = await rig.start(
        'echo ready; while [[ ! -e stop ]]; do s=$(cat watched | tr -s ab); c=$(wc -c <watched); echo "$s $c"; done | sort -u',
      );
      for (const letter of ['b', 'a', 'b', 'a', 'b']) await rig.sandbox.writeFile('watched', Buffer.alloc(size, letter));
      await rig.sandbox.writeFile('stop', '');
      const lines = (await follow(watcher).rest()).trim().split('\n');
      expect(lines.filter((line) => !/^([ab] 2000000|ready)$/.test(line))).toEqual([]);
    });
  });
}
