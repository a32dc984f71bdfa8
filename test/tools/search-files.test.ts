import { describe, expect, it } from 'vitest';
import { sleepMark } from '../contracts/sandbox/rig.ts';
import { describeBackend, processesWith } from '../engines.ts';
import { kinds, maxBytes, names, useFileTools } from './file-toolbox.ts';

interface Found {
  engine: string;
  matches: { path: string; line: number; text: string; cut?: boolean; context?: boolean }[];
  files: string[];
  count: number;
  truncated: boolean;
  warnings: string[];
}

for (const kind of kinds) {
  await describeBackend(kind, (engine) => {
    const tools = useFileTools(engine);
    const search = (input: object) => tools.data<Found>('search_files', input);
    const lines = async (input: object) => (await search(input)).matches.map(({ path, line, text }) => `${path}:${line}:${text}`);
    const tree = (...files: [string, string | Buffer][]) =>
      Promise.all(files.map(([path, content]) => tools.sandbox.writeFile(path, content)));

    it('reports the program it searches with', async ({ task, annotate }) => {
      await tree(['one/a.ts', 'x\n']);
      const { engine: name } = await search({ pattern: 'x', path: 'one' });
      await annotate(`${task.name}: ${kind} searches with ${name}`);
      expect(name).toBe((await tools.succeeds('type -P rg')) ? 'ripgrep' : 'grep');
    });

    it('declares the path that search_files reads', async () => {
      tools.actions.length = 0;
      await search({ pattern: 'x', path: 'one' });
      expect(tools.actions).toEqual([{ kind: 'read', path: 'one', cwd: tools.workdir }]);
    });

    describe('searches by content', () => {
      it('returns matches with path and line, in order', async () => {
        await tree(
          ['find/b.txt', 'no\nneedle one\n'],
          ['find/a/c.txt', 'needle two\nno\nneedle three'],
          ['find/.hidden', 'needle four\r\n'],
        );
        expect(await lines({ pattern: 'needle', path: 'find' })).toEqual([
          'find/.hidden:1:needle four',
          'find/a/c.txt:1:needle two',
          'find/a/c.txt:3:needle three',
          'find/b.txt:2:needle one',
        ]);
        expect(await tools.text('search_files', { pattern: 'needle', path: 'find', glob: '*.txt' })).toBe(
          'find/a/c.txt\n1:needle two\n3:needle three\n\nfind/b.txt\n2:needle one',
        );
      });

      it.each([
        ['find/', 'find/b.txt:2:needle one'],
        ['find/b.txt', 'find/b.txt:2:needle one'],
        ['./find', './find/b.txt:2:needle one'],
      ])('returns paths that read_file accepts, from %s', async (path, expected) => {
        expect(await lines({ pattern: 'needle one', path })).toEqual([expected]);
      });

      it('searches from the directory of the session and by absolute path', async () => {
        await tools.output('cd find');
        expect(await lines({ pattern: 'needle one' })).toEqual(['b.txt:2:needle one']);
        await tools.output('cd ..');
        expect(await lines({ pattern: 'needle one', path: `${tools.workdir}/find` })).toEqual([`${tools.workdir}/find/b.txt:2:needle one`]);
      });

      it('searches by regular expression or literally', async () => {
        await tree(['regex/file', 'a+b\naab\nfoo(bar)\nword1 word2\nÜber über\n-e dash\n\\d back\n']);
        const path = 'regex';
        expect(await lines({ pattern: 'a+b', path })).toEqual(['regex/file:2:aab']);
        expect(await lines({ pattern: 'a+b', path, regex: false })).toEqual(['regex/file:1:a+b']);
        expect(await lines({ pattern: 'foo(', path, regex: false })).toEqual(['regex/file:3:foo(bar)']);
        expect(await lines({ pattern: '^word\\d\\s\\w+$', path })).toEqual(['regex/file:4:word1 word2']);
        expect(await lines({ pattern: '\\b.ber\\b', path })).toEqual(['regex/file:5:Über über']);
        expect(await lines({ pattern: 'ÜBER', path, ignore_case: true })).toEqual(['regex/file:5:Über über']);
        expect(await lines({ pattern: 'ÜBER', path, ignore_case: true, regex: false })).toEqual(['regex/file:5:Über über']);
        expect(await lines({ pattern: 'FOO(BAR', path, ignore_case: true, regex: false })).toEqual(['regex/file:3:foo(bar)']);
        expect(await lines({ pattern: '-e', path })).toEqual(['regex/file:6:-e dash']);
        expect(await lines({ pattern: '--help', path })).toEqual([]);
        expect(await lines({ pattern: '\\d', path, regex: false })).toEqual(['regex/file:7:\\d back']);
      });

      it('returns the lines around a match', async () => {
        await tree(['around/file', Array.from({ length: 20 }, (_, index) => `line-${index + 1}:x`).join('\n')]);
        const { matches, count } = await search({ pattern: 'line-(5|6|15)\\b', path: 'around', context: 1 });
        expect(count).toBe(3);
        expect(matches.map(({ line, context }) => (context ? -line : line))).toEqual([-4, 5, 6, -7, -14, 15, -16]);
        expect(await tools.text('search_files', { pattern: 'line-(5|15)\\b', path: 'around', context: 1 })).toBe(
          'around/file\n4-line-4:x\n5:line-5:x\n6-line-6:x\n--\n14-line-14:x\n15:line-15:x\n16-line-16:x',
        );
      });

      it('returns only the files', async () => {
        const { files, count } = await search({ pattern: 'needle', path: 'find', files_only: true });
        expect({ files, count }).toEqual({ files: ['find/.hidden', 'find/a/c.txt', 'find/b.txt'], count: 3 });
      });

      it.each(names)('searches a file called %j', async (name) => {
        await tools.output('rm -rf odd; mkdir -p "./odd/$1"; echo needle >"./odd/$1/$1"; echo needle >odd/plain', { args: [name] });
        const { matches } = await search({ pattern: 'needle', path: 'odd' });
        expect(matches.map(({ path }) => path)).toEqual([`odd/${name}/${name}`, 'odd/plain'].sort());
        expect(await search({ pattern: 'needle', path: 'odd', files_only: true })).toMatchObject({ count: 2 });
        expect(await search({ pattern: 'needle', path: `odd/${name}/${name}` })).toMatchObject({ count: 1 });
      });

      it('searches files whose name or content is not UTF-8', async () => {
        await tools.output("mkdir -p bytes; echo needle >$'bytes/\\xff\\xfe'; printf 'needle \\374ber\\nplain needle\\n' >bytes/latin");
        expect(await search({ pattern: 'needle', path: 'bytes' })).toMatchObject({ count: 3 });
        expect(await search({ pattern: 'needle', path: 'bytes', regex: false })).toMatchObject({ count: 3 });
      });

      it('skips binary files, version control and node_modules', async () => {
        await tree(['skip/binary', Buffer.from('needle\0\n')], ['skip/.git/config', 'needle'], ['skip/node_modules/x/y.js', 'needle']);
        await tree(['skip/.gitignore', 'ignored\n'], ['skip/ignored', 'needle'], ['skip/late', `needle\n${'x\n'.repeat(100_000)}\0`]);
        expect((await lines({ pattern: 'needle', path: 'skip' })).filter((line) => !line.startsWith('skip/late'))).toEqual([
          'skip/ignored:1:needle',
        ]);
        expect(await lines({ pattern: 'needle', path: 'skip/node_modules' })).toEqual(['skip/node_modules/x/y.js:1:needle']);
        expect(await lines({ pattern: 'needle', path: 'skip', glob: 'node_modules/**/*.js' })).toEqual([
          'skip/node_modules/x/y.js:1:needle',
        ]);
      });

      it.each<[string, string[]]>([
        ['*.ts', ['a.ts', 'src/b.ts', 'src/deep/c.ts']],
        ['*.{ts,js}', ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/deep/d.js']],
        ['src/*.ts', ['src/b.ts']],
        ['src/**', ['src/b.ts', 'src/deep/c.ts', 'src/deep/d.js']],
        ['**/deep/*', ['src/deep/c.ts', 'src/deep/d.js']],
        ['src/**/c.ts', ['src/deep/c.ts']],
        ['?.js', ['src/deep/d.js']],
        ['[ab].ts', ['a.ts', 'src/b.ts']],
        ['[!ab].ts', ['src/deep/c.ts']],
        ['!*.ts', ['-x.md', 'src/deep/d.js']],
        ['!src', ['-x.md', 'a.ts']],
        ['!src/deep/', ['-x.md', 'a.ts', 'src/b.ts']],
        ['-x.*', ['-x.md']],
        ['*.none', []],
      ])('searches only files that match the glob %s', async (glob, expected) => {
        const paths = ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/deep/d.js', '-x.md'];
        await tree(...paths.map((path): [string, string] => [`globs/${path}`, 'needle']));
        const { files } = await search({ pattern: 'needle', path: 'globs', glob, files_only: true });
        expect(files).toEqual(expected.map((path) => `globs/${path}`).sort());
      });
    });

    describe('searches by name', () => {
      it.each<[string, string[]]>([
        ['*.ts', ['a.ts', 'src/b.ts', 'src/deep/c.ts']],
        ['deep', ['src/deep/']],
        ['src/*', ['src/b.ts', 'src/deep/']],
        ['**/d.*', ['src/deep/d.js']],
        ['-x.md', ['-x.md']],
        ['none', []],
      ])('finds names that match %s', async (pattern, expected) => {
        const { files, engine: name } = await search({ target: 'names', pattern, path: 'globs' });
        expect(files).toEqual(expected.map((path) => `globs/${path}`).sort());
        expect(name).toBe('find');
      });

      it('ignores the case of names and finds any name', async () => {
        await tools.output("mkdir -p 'named/Some Dir'; touch named/README.md $'named/line\\nbreak' $'named/\\xff'");
        expect(await search({ target: 'names', pattern: 'readme*', path: 'named', ignore_case: true })).toMatchObject({
          files: ['named/README.md'],
        });
        expect((await search({ target: 'names', pattern: '*', path: 'named' })).count).toBe(4);
        expect(await tools.text('search_files', { target: 'names', pattern: 'line*', path: 'named' })).toBe('"named/line\\nbreak"');
      });

      it('refuses to search names in a file', async () => {
        expect(await tools.failure('search_files', { target: 'names', pattern: '*', path: 'named/README.md' })).toMatch(/is a file/);
      });
    });

    describe('hostile trees', () => {
      it('searches a tree with pipes, loops and broken links', async () => {
        await tools.output(
          'mkdir -p traps/inner; echo needle >traps/file; [[ -e traps/pipe ]] || mkfifo traps/pipe; ln -sfn .. traps/inner/up; ln -sfn loop traps/loop; ln -sfn /nowhere traps/broken',
        );
        expect(await search({ pattern: 'needle', path: 'traps' })).toMatchObject({ count: 1, warnings: [] });
        expect((await search({ target: 'names', pattern: '*', path: 'traps' })).count).toBe(6);
        expect(await tools.failure('search_files', { pattern: 'x', path: 'traps/pipe' })).toMatch(/is a named pipe/);
      });

      it('shows a part of an enormous line, in bounded memory', async () => {
        await tools.output(
          'mkdir -p wide; { head -c 50000000 /dev/zero | tr "\\0" x; echo needle; } >wide/line; { printf "%01000d" 0; echo "the needle here"; } >wide/less',
        );
        const before = process.memoryUsage.rss();
        const { matches, count } = await search({ pattern: 'needle', path: 'wide', regex: false });
        expect(count).toBe(2);
        for (const { text, cut } of matches) {
          expect(text.length).toBeLessThanOrEqual(500);
          expect(cut).toBe(true);
        }
        expect(matches[0]?.text).toContain('the needle here');
        expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 * 1024);
        await tools.output('rm -r wide');
      });

      it('stops at the limit of matches', async () => {
        await tools.output('mkdir -p many; yes needle | head -n 5000000 >many/file');
        const started = performance.now();
        expect(await search({ pattern: 'needle', path: 'many', limit: 7 })).toMatchObject({ count: 7, truncated: true });
        expect(performance.now() - started).toBeLessThan(30_000);
        const { matches, truncated } = await search({ pattern: 'needle', path: 'many', limit: 5000 });
        expect(truncated).toBe(true);
        expect(JSON.stringify(matches.map(({ text }) => text)).length).toBeLessThan(2 * maxBytes);
        await tools.output('rm -r many');
      });

      it('warns about files it cannot read', async () => {
        if ((await tools.output('id -u')) === '0\n') return;
        await tools.output(
          'mkdir -p closed/inside; echo needle >closed/open; echo needle >closed/shut; chmod 000 closed/shut closed/inside',
        );
        const result = await search({ pattern: 'needle', path: 'closed' });
        expect(result).toMatchObject({ count: 1, truncated: false });
        expect(result.warnings.join('\n')).toMatch(/shut.*Permission denied/);
        await tools.output('chmod 700 closed/inside');
      });

      it('searches the root of the file system', async () => {
        // The rest of the file system may be large: only one directory of it, and the endless files of the kernel.
        const others = (await tools.output('ls -A /')).split('\n').filter((name) => !['', 'etc', 'proc', 'sys', 'dev'].includes(name));
        const { matches } = await search({ pattern: '^root:', path: '/', glob: `!{${others.join(',')}}` });
        expect(matches.map(({ path }) => path)).toContain('/etc/passwd');
        expect(matches.filter(({ path }) => !path.startsWith('/etc/'))).toEqual([]);
      });
    });

    it('succeeds when nothing is found', async () => {
      expect(await search({ pattern: 'nothing like it', path: 'find' })).toMatchObject({ count: 0, matches: [], truncated: false });
      expect(await tools.text('search_files', { pattern: 'nothing like it', path: 'find' })).toBe('Nothing found in find.');
      expect(await tools.text('search_files', { pattern: 'nothing like it' })).toMatch(/^Nothing found here\.$/m);
    });

    it('explains a wrong pattern or path', async () => {
      expect(await tools.failure('search_files', { pattern: 'foo(', path: 'find' })).toMatch(
        /^The search failed: .*(unclosed|parenthes).* regex to false/s,
      );
      expect(await tools.failure('search_files', { pattern: 'a\nb' })).toMatch(/single line/);
      expect(await tools.failure('search_files', { pattern: '' })).toMatch(/cannot be empty/);
      expect(await tools.failure('search_files', { pattern: 'x', path: 'fnd' })).toMatch(/no file fnd .*Similar names there: find\//);
    });

    it('searches despite functions and settings of the session', async () => {
      await tools.output(
        'grep() { echo hijacked; }; find() { echo hijacked; }; rg() { echo hijacked; }; alias xargs=false; echo --invert-match >rgrc; export GREP_OPTIONS=-v RIPGREP_CONFIG_PATH=$PWD/rgrc CDPATH=/etc',
      );
      expect(await lines({ pattern: 'needle one', path: 'find' })).toEqual(['find/b.txt:2:needle one']);
      await tools.output('unset -f grep find rg; unalias xargs; unset GREP_OPTIONS RIPGREP_CONFIG_PATH CDPATH');
    });

    it('ends a search inside when it is interrupted', async () => {
      await tools.output('mkdir -p slow; yes "some text" | head -c 300000000 >slow/file');
      const pattern = `(s.*){8}[${sleepMark()}]`;
      const started = performance.now();
      expect(await tools.failure('search_files', { pattern, path: 'slow' }, { signal: AbortSignal.timeout(30) })).toMatch(/Interrupted/);
      // It would take hours.
      expect(performance.now() - started).toBeLessThan(60_000);
      expect(processesWith(pattern)).toEqual([]);
      await tools.output('rm -r slow');
    });
  });
}
