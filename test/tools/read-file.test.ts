import { describe, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { kinds, maxBytes, names, useFileTools } from './file-toolbox.ts';

interface Read {
  kind: string;
  content: string;
  start_line: number;
  total_lines: number;
  size_bytes: number;
  truncated: boolean;
  next_offset?: number;
  next_skip_bytes?: number;
  line_ending: string;
  bom: boolean;
  mime: string;
}

for (const kind of kinds) {
  await describeBackend(kind, (engine) => {
    const tools = useFileTools(engine);
    const read = (input: object) => tools.data<Read>('read_file', input);

    it('shows lines with their numbers and returns the text without', async () => {
      await tools.sandbox.writeFile('three', 'one\n\ttwo\nthree');
      expect(await tools.text('read_file', { path: 'three' })).toBe('     1\tone\n     2\t\ttwo\n     3\tthree');
      expect(await read({ path: 'three' })).toMatchObject({
        content: 'one\n\ttwo\nthree',
        total_lines: 3,
        size_bytes: 14,
        truncated: false,
      });
    });

    it('declares the path that read_file reads', async () => {
      tools.actions.length = 0;
      await read({ path: 'three' });
      expect(tools.actions).toEqual([{ kind: 'read', path: 'three', cwd: tools.workdir }]);
    });

    it.each(names)('reads a file called %j', async (name) => {
      await tools.output('printf %s content >"./$1"', { args: [name] });
      expect(await read({ path: `./${name}` })).toMatchObject({ content: 'content' });
      if (name !== '~') expect(await read({ path: name })).toMatchObject({ content: 'content' });
    });

    it('resolves paths from the directory of the session and from ~', async () => {
      await tools.output('mkdir -p sub "$HOME/below"; echo in sub >sub/here; echo at home >"$HOME/below/home-file"; cd sub');
      expect(await read({ path: 'here' })).toMatchObject({ content: 'in sub\n' });
      await tools.output('cd ..');
      expect(await read({ path: `${tools.workdir}/sub/here` })).toMatchObject({ content: 'in sub\n' });
      expect(await read({ path: '~/below/home-file' })).toMatchObject({ content: 'at home\n' });
    });

    it('reads files despite functions, aliases and options of the session', async () => {
      await tools.output(
        'builtin() { echo hijacked; }; read() { echo hijacked; }; printf() { echo hijacked; }; head() { echo hijacked; }; unset() { :; }; eval() { :; }; alias if=false stat=false; shopt -s nocasematch failglob nullglob; export IFS=x path=/etc/passwd PATH=/nowhere TEXT',
      );
      try {
        await tools.sandbox.writeFile('Plain', 'plain\n');
        expect(await read({ path: 'Plain' })).toMatchObject({ content: 'plain\n' });
        expect(await read({ path: '/bin/sh' })).toMatchObject({ kind: 'binary' });
      } finally {
        await tools.output(
          '\\unset -f builtin read printf head unset eval; POSIXLY_CORRECT=1; \\unset -f builtin read printf head unset eval; \\unset POSIXLY_CORRECT; \\unalias -a; shopt -u nocasematch failglob nullglob; unset IFS path TEXT; export PATH=/usr/local/bin:/usr/bin:/bin',
        );
      }
    });

    describe('a long file', () => {
      it('returns a long file in pages that end at the end of a line', async () => {
        await tools.output('for n in {1..30000}; do echo "line number $n"; done >long');
        const lines: string[] = [];
        let offset: number | undefined = 1;
        while (offset !== undefined) {
          const page: Read = await read({ path: 'long', offset, limit: 100_000 });
          expect(page.total_lines).toBe(30_000);
          expect(page.start_line).toBe(offset);
          expect(Buffer.byteLength(page.content)).toBeLessThanOrEqual(maxBytes);
          lines.push(...page.content.trimEnd().split('\n'));
          offset = page.next_offset;
        }
        expect(lines).toEqual(Array.from({ length: 30_000 }, (_, index) => `line number ${index + 1}`));
      });

      it('reads from any line and says how to read on', async () => {
        expect(await read({ path: 'long', offset: 29_999, limit: 1 })).toMatchObject({
          content: 'line number 29999\n',
          next_offset: 30_000,
        });
        expect(await read({ path: 'long', offset: 30_000 })).toMatchObject({ content: 'line number 30000\n', truncated: false });
        expect(await tools.text('read_file', { path: 'long', offset: 5, limit: 2 })).toBe(
          '     5\tline number 5\n     6\tline number 6\n[30000 lines in all. Read on with offset 7.]',
        );
        expect(await tools.failure('read_file', { path: 'long', offset: 30_001 })).toBe('long has 30000 lines; there is no line 30001.');
      });

      it.each(['ü', 'x'])('reads a single long line of %s in pages', async (letter) => {
        const length = 200_000;
        await tools.sandbox.writeFile('one-line', `${letter.repeat(length)}\nlast`);
        let text = '';
        let at: { offset: number; skip_bytes?: number } | undefined = { offset: 1 };
        while (at) {
          const page: Read = await read({ path: 'one-line', ...at });
          text += page.content;
          at = page.next_offset === undefined ? undefined : { offset: page.next_offset, skip_bytes: page.next_skip_bytes ?? 0 };
        }
        expect(text).toBe(`${letter.repeat(length)}\nlast`);
        expect(await tools.failure('read_file', { path: 'one-line', offset: 2, skip_bytes: 100 })).toMatch(/Line 2 has only 4 bytes/);
      });

      it('reads 100 MB in one line or millions of lines in bounded memory', async () => {
        await tools.output('head -c 100000000 /dev/zero | tr "\\0" y >huge-line; yes | head -n 10000000 >many-lines');
        const before = process.memoryUsage.rss();
        expect(await read({ path: 'huge-line', skip_bytes: 99_999_990 })).toMatchObject({ content: 'y'.repeat(10), truncated: false });
        expect(await read({ path: 'huge-line' })).toMatchObject({ total_lines: 1, size_bytes: 100_000_000, next_offset: 1 });
        expect(await read({ path: 'many-lines', offset: 9_999_999 })).toMatchObject({ content: 'y\ny\n', total_lines: 10_000_000 });
        expect(process.memoryUsage.rss() - before).toBeLessThan(32 * 1024 * 1024);
        await tools.output('rm huge-line many-lines');
      });
    });

    describe('encodings and line endings', () => {
      it.each([
        ['crlf', '\uFEFFa\r\nb\r\n', 'a\nb\n', true],
        ['mixed', 'a\r\nb\nc', 'a\nb\nc', false],
        ['lf', 'a\n\rb\n', 'a\n\rb\n', false],
        ['none', '\uFEFFa', 'a', true],
      ])('reports line endings and byte order mark: %s', async (line_ending, raw, content, bom) => {
        await tools.sandbox.writeFile('form', raw);
        expect(await read({ path: 'form' })).toMatchObject({ content, line_ending, bom });
      });

      it('reads an empty file', async () => {
        await tools.sandbox.writeFile('empty', '');
        expect(await read({ path: 'empty' })).toMatchObject({ content: '', total_lines: 0, truncated: false });
        expect(await tools.text('read_file', { path: 'empty' })).toBe('empty is empty.');
      });
    });

    describe('binary files', () => {
      it.each<[string, Buffer, string, string]>([
        ['an image', Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), 'image', 'image/png'],
        ['an image without NUL', Buffer.from('GIF89a\xff\xff', 'latin1'), 'image', 'image/gif'],
        ['an archive', Buffer.from('PK\x03\x04\0\0', 'latin1'), 'binary', 'application/zip'],
        ['UTF-16', Buffer.from('\uFEFFtext', 'utf16le'), 'binary', 'text/plain; charset=utf-16le'],
        ['Latin-1', Buffer.from('f\xfcr\n', 'latin1'), 'binary', 'text/plain; charset=unknown'],
        ['what is seen late', Buffer.concat([Buffer.alloc(70_000, 'text\n'), Buffer.alloc(10)]), 'text', ''],
        ['large Latin-1', Buffer.alloc(300_000, 0xfc), 'binary', 'text/plain; charset=unknown'],
      ])('describes the content of a file: %s', async (_title, bytes, expected, mime) => {
        await tools.sandbox.writeFile('some.txt', bytes);
        const result = await read({ path: 'some.txt' });
        expect(result).toMatchObject({ kind: expected, size_bytes: bytes.length });
        if (expected === 'text') return;
        expect(result.mime).toBe(mime);
        expect(result.content).toBeUndefined();
        expect(await tools.text('read_file', { path: 'some.txt' })).toContain(`${bytes.length} bytes`);
      });

      it('detects binary files by content, not by name', async () => {
        await tools.sandbox.writeFile('notebook.ipynb', '{"cells": []}');
        await tools.sandbox.writeFile('picture.png', 'no picture');
        expect(await read({ path: 'notebook.ipynb' })).toMatchObject({ content: '{"cells": []}' });
        expect(await read({ path: 'picture.png' })).toMatchObject({ content: 'no picture' });
      });
    });

    describe('paths that are not files', () => {
      it('refuses pipes, devices and link loops by name, without hanging', async () => {
        await tools.output('[[ -e pipe ]] || mkfifo pipe; ln -sfn loop loop');
        expect(await tools.failure('read_file', { path: 'pipe' })).toBe('pipe is a named pipe, not a file.');
        expect(await tools.failure('read_file', { path: '/dev/zero' })).toBe('/dev/zero is a device, not a file.');
        expect(await tools.failure('read_file', { path: 'loop' })).toMatch(/^There is no file loop/);
        expect(await tools.failure('read_file', { path: 'a\0b' })).toMatch(/cannot contain a NUL/);
        expect(await tools.failure('read_file', { path: '' })).toMatch(/cannot be empty/);
      });

      it('lists a directory instead of reading it', async () => {
        await tools.output('mkdir -p folder/inner; touch folder/.hidden folder/file');
        const text = await tools.failure('read_file', { path: 'folder' });
        expect(text).toMatch(/^folder is a directory\. It contains: \.hidden, file, inner\/\. .*search_files/);
      });

      it('suggests similar names for a missing path', async () => {
        await tools.output('mkdir -p src/nested; touch src/server.ts src/client.ts src/nested/deep.ts');
        expect(await tools.failure('read_file', { path: 'src/sever.ts' })).toMatch(
          /no file src\/sever\.ts .* Similar names there: server\.ts\.$/,
        );
        expect(await tools.failure('read_file', { path: 'src/netsed/deep.ts' })).toMatch(/no directory src\/netsed either.* nested\/\.$/);
        expect(await tools.failure('read_file', { path: '/nonexistent/x' })).toMatch(/last that exists is \//);
      });

      it('explains why a file cannot be read', async () => {
        if ((await tools.output('id -u')) === '0\n') return;
        await tools.output('echo secret >locked; chmod 000 locked');
        expect(await tools.failure('read_file', { path: 'locked' })).toMatch(/locked could not be read: .*Permission denied/);
      });
    });

    it('reads files of /proc', async () => {
      expect(await read({ path: '/proc/self/status' })).toMatchObject({ content: expect.stringMatching(/^Name:/) });
      expect(await tools.failure('read_file', { path: '/proc/self/mem' })).toMatch(/could not be read: .*(Input\/output error|Permission)/);
    });

    it('ends a read when it is interrupted', async () => {
      await tools.output('truncate -s 0 endless; yes | head -c 400000000 >endless');
      const signal = AbortSignal.timeout(50);
      const started = performance.now();
      await tools.failure('read_file', { path: 'endless', offset: 1_000_000_000 }, { signal });
      expect(performance.now() - started).toBeLessThan(30_000);
      await tools.output('rm endless');
    });
  });
}
