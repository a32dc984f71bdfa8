import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { kinds, names, useFileTools } from './file-toolbox.ts';

interface Written {
  created: boolean;
  bytes: number;
  lines_added?: number;
  lines_removed?: number;
  kept: string[];
}

/** Small ones are written in place, others beside the file. */
const sizes: [string, string][] = [
  ['small', 'small content\n'],
  ['large', 'large content\n'.repeat(20_000)],
];

for (const kind of kinds) {
  await describeBackend(kind, (engine) => {
    const tools = useFileTools(engine);
    const write = (path: string, content: string) => tools.data<Written>('write_file', { path, content });
    const contentOf = async (path: string) => (await tools.sandbox.readFile(path)).toString();
    const leftovers = () => tools.output('find . -name ".hermetic-*"; find /tmp -maxdepth 1 -name ".hermetic-*" 2>/dev/null; true');

    it('creates a file and its parent directories', async () => {
      expect(await write('one/two/three', 'a\nb\n')).toEqual({
        path: 'one/two/three',
        created: true,
        bytes: 4,
        lines_added: 2,
        lines_removed: 0,
        kept: [],
      });
      expect(await contentOf('one/two/three')).toBe('a\nb\n');
    });

    it('reports how a replaced file changed', async () => {
      await write('replaced', 'a\nb\nc\n');
      expect(await write('replaced', 'a\nB\nc\nd\n')).toMatchObject({ created: false, lines_added: 2, lines_removed: 1 });
      expect(await tools.text('write_file', { path: 'replaced', content: '' })).toBe('Replaced replaced (0 bytes, +0 −4 lines).');
      expect(await contentOf('replaced')).toBe('');
    });

    it('declares the path that write_file writes', async () => {
      tools.actions.length = 0;
      await write('declared', '');
      expect(tools.actions).toEqual([{ kind: 'write', path: 'declared', cwd: tools.workdir }]);
    });

    it.each(names)('writes a file called %j', async (name) => {
      await write(`./${name}`, 'content');
      expect(await tools.output('cat -- "./$1"', { args: [name] })).toBe('content');
    });

    it('resolves ~ to the home directory', async () => {
      await write('~/at-home', 'home');
      expect(await tools.output('cat ~/at-home')).toBe('home');
    });

    it.each(['$(id) `id` $HOME \\n %s "\'', 'NUL \0 in it', 'ünï 🦀', '\n\n\n', '-n', 'ends without newline', '\\'.repeat(5000)])(
      'writes exactly %j',
      async (content) => {
        await write('exactly', content);
        expect(await contentOf('exactly')).toBe(content);
        await write('exactly', `${content}${content}`);
        expect(await contentOf('exactly')).toBe(content + content);
      },
    );

    it('writes a file of 10 MB', async () => {
      const content = 'ten million\n'.repeat(900_000);
      const { bytes } = await write('ten', content);
      expect(bytes).toBe(content.length);
      const hash = createHash('sha256').update(content).digest('hex');
      expect(await tools.output('sha256sum <ten; rm ten')).toBe(`${hash}  -\n`);
    });

    describe.each(sizes)('%s content', (_size, content) => {
      it('keeps mode and owner of a file', async () => {
        await tools.output('echo old >mode; chmod 751 mode');
        await write('mode', content);
        expect(await tools.output('stat -c %a mode')).toBe('751\n');
        if ((await tools.output('id -u')) !== '0\n') return;
        if (!(await tools.succeeds('echo old >owned; chown 12:34 owned; chmod 640 owned'))) return;
        await write('owned', content);
        expect(await tools.output('stat -c %a:%u:%g owned')).toBe('640:12:34\n');
      });

      it('writes through links', async () => {
        await tools.output(
          'mkdir -p real; echo old >real/target; ln -sfn real/target link; ln -sfn link second-link; ln -sfn real/new dangling',
        );
        await write('second-link', content);
        expect(await tools.output('readlink second-link link; cat real/target')).toBe(`link\nreal/target\n${content}`);
        await write('dangling', content);
        expect(await tools.output('readlink dangling; cat real/new; rm real/new')).toBe(`real/new\n${content}`);
      });

      it('applies the umask of the session to a new file', async () => {
        await tools.output('umask 027; rm -f fresh');
        await write('fresh', content);
        expect(await tools.output('stat -c %a fresh; umask 022')).toBe('640\n');
      });

      it('keeps the old content when the disk is full', async () => {
        const most = content.repeat(1000).slice(0, Math.max(content.length, 60_000));
        // Only where it may be mounted; elsewhere nothing so small can be had.
        if (!(await tools.succeeds('mkdir -p full; mount -t tmpfs -o size=4k none full'))) return;
        try {
          await tools.output('printf %s original >full/room');
          expect(await tools.failure('write_file', { path: 'full/room', content: most })).toMatch(/could not be written: .*No space/);
          expect(await contentOf('full/room')).toBe('original');
          expect(await tools.failure('write_file', { path: 'full/new', content: most })).toMatch(/No space/);
          expect(await tools.output('ls -A full')).toBe('room\n');
        } finally {
          await tools.output('umount full');
        }
      });

      it('writes a file that cannot be replaced, as a mount', async () => {
        if (!(await tools.succeeds('echo old >mounted; touch mount; mount --bind mounted mount'))) return;
        try {
          await write('mount', content);
          expect(await contentOf('mounted')).toBe(content);
        } finally {
          await tools.output('umount mount');
        }
      });

      it('keeps CRLF line endings and a byte order mark', async () => {
        await tools.sandbox.writeFile('windows', '\uFEFFold\r\nlines\r\n');
        expect(await write('windows', content)).toMatchObject({ kept: ['byte order mark', 'CRLF line endings'] });
        expect(await contentOf('windows')).toBe(`\uFEFF${content.replaceAll('\n', '\r\n')}`);
        await write('windows', `${content}new\r\n`);
        expect(await contentOf('windows')).toBe(`\uFEFF${content}new\r\n`);
        await tools.sandbox.writeFile('both', 'a\r\nb\n');
        await write('both', content);
        expect(await contentOf('both')).toBe(content);
      });

      it('replaces a binary or huge file', async () => {
        await tools.sandbox.writeFile('binary', Buffer.from([0, 1, 2, 255]));
        expect(await write('binary', content)).toEqual({ path: 'binary', created: false, bytes: content.length, kept: [] });
        expect(await contentOf('binary')).toBe(content);
        await tools.output('head -c 3000000 /dev/zero | tr "\\0" "\\n" >huge');
        expect(await write('huge', content)).toMatchObject({ created: false, bytes: content.length });
        expect(await contentOf('huge')).toBe(content);
      });

      it('refuses to write directories, pipes and devices', async () => {
        await tools.output('mkdir -p directory; [[ -e pipe ]] || mkfifo pipe; touch plain');
        for (const path of ['directory', 'directory/', '/', 'missing/'])
          expect(await tools.failure('write_file', { path, content })).toMatch(/is a directory/);
        expect(await tools.failure('write_file', { path: 'pipe', content })).toMatch(/is a named pipe/);
        expect(await tools.failure('write_file', { path: '/dev/null', content })).toMatch(/is a device/);
        expect(await tools.failure('write_file', { path: 'plain/below', content })).toMatch(
          /could not be written: .*Not a directory|File exists/,
        );
        expect(await tools.failure('write_file', { path: 'a\0b', content })).toMatch(/cannot contain a NUL/);
      });

      it('leaves no temporary file behind', async () => {
        expect(await leftovers()).toBe('');
      });
    });

    it('keeps hard links of a file', async () => {
      await tools.output('echo old >first; ln -f first second');
      await write('first', 'new\n');
      expect(await tools.output('cat second; [[ first -ef second ]] && echo same')).toBe('new\nsame\n');
    });

    it('writes ten files at a time', async () => {
      const paths = Array.from({ length: 10 }, (_, index) => `parallel/${index}`);
      await Promise.all(paths.map((path) => write(path, path.repeat(5000))));
      expect(await Promise.all(paths.map(contentOf))).toEqual(paths.map((path) => path.repeat(5000)));
    });

    it('leaves one whole content when several calls write one file', async () => {
      const contents = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(30_000));
      await write('contested', 'start');
      await Promise.all(contents.map((content) => write('contested', content)));
      expect(contents).toContain(await contentOf('contested'));
    });
  });
}
