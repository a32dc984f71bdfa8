import { describe, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { kinds, maxBytes, useFileTools } from './file-toolbox.ts';

interface Edited {
  edits: { replacements: number; matched: string; line: number }[];
  lines_added: number;
  lines_removed: number;
  diff: string;
  diff_truncated: boolean;
}

const filler = 'filler line\n'.repeat(10_000);

for (const kind of kinds) {
  await describeBackend(kind, (engine) => {
    const tools = useFileTools(engine);
    const edit = (path: string, old_text: string, new_text: string, replace_all = false) =>
      tools.data<Edited>('edit_file', { path, edits: [{ old_text, new_text, replace_all }] });
    const refusal = (path: string, old_text: string, new_text: string) =>
      tools.failure('edit_file', { path, edits: [{ old_text, new_text }] });
    const contentOf = async (path: string) => (await tools.sandbox.readFile(path)).toString();

    it('shows the difference of an edit', async () => {
      await tools.sandbox.writeFile('code.ts', 'function f() {\n  return 1;\n}\n');
      expect(await tools.text('edit_file', { path: 'code.ts', edits: [{ old_text: 'return 1', new_text: 'return 2' }] })).toBe(
        'Edited code.ts: 1 place, +1 −1 lines.\n\n--- code.ts\n+++ code.ts\n@@ -1,3 +1,3 @@\n function f() {\n-  return 1;\n+  return 2;\n }',
      );
      expect(await contentOf('code.ts')).toBe('function f() {\n  return 2;\n}\n');
    });

    it('declares the path that edit_file writes', async () => {
      tools.actions.length = 0;
      await edit('code.ts', '2', '3');
      expect(tools.actions).toEqual([{ kind: 'edit', path: 'code.ts', cwd: tools.workdir }]);
    });

    it('applies all edits or none', async () => {
      await tools.sandbox.writeFile('several', 'one\ntwo\nthree\n');
      const edits = [
        { old_text: 'one', new_text: '1' },
        { old_text: '1\ntwo', new_text: '1\n2' },
      ];
      const result = await tools.data<Edited>('edit_file', { path: 'several', edits });
      expect(result).toMatchObject({ lines_added: 2, lines_removed: 2, edits: [{ line: 1 }, { line: 1 }] });
      expect(await contentOf('several')).toBe('1\n2\nthree\n');
      const text = await tools.failure('edit_file', { path: 'several', edits: [{ old_text: '1', new_text: 'x' }, ...edits] });
      expect(text).toMatch(/^Edit 2 of 3: .*Nothing was changed/);
      expect(await contentOf('several')).toBe('1\n2\nthree\n');
    });

    it('accepts the content that read_file returned', async () => {
      await tools.sandbox.writeFile('windows', '\uFEFFone\r\n\ttwo\r\nthree\r\n');
      const { content } = await tools.data<{ content: string }>('read_file', { path: 'windows' });
      await edit('windows', content, `${content}four\n`);
      expect(await contentOf('windows')).toBe('\uFEFFone\r\n\ttwo\r\nthree\r\nfour\r\n');
    });

    it('finds text with other indentation and says so', async () => {
      await tools.sandbox.writeFile('indented', 'a:\n\tb:\n\t\tc\n');
      expect(await tools.text('edit_file', { path: 'indented', edits: [{ old_text: 'b:\n    c', new_text: 'b:\n    d' }] })).toMatch(
        /Found only with other whitespace: line 2 \(indentation\)\./,
      );
      expect(await contentOf('indented')).toBe('a:\n\tb:\n\t\td\n');
    });

    describe.each([
      ['small', ''],
      ['large', filler],
    ])('edits of a %s file', (_size, more) => {
      it('keeps mode, links and all other content of an edited file', async () => {
        await tools.sandbox.writeFile('target', `start\nchange me\n${more}`);
        await tools.output('chmod 740 target; ln -sfn target link');
        await edit('link', 'change me', 'changed');
        expect(await contentOf('target')).toBe(`start\nchanged\n${more}`);
        expect(await tools.output('stat -c %a target; readlink link; find . -name ".hermetic-*"')).toBe('740\ntarget\n');
      });

      it('shows the closest lines when the old text is missing', async () => {
        await tools.sandbox.writeFile('meant', `const first = 1;\nconst second = 2;\n${more}`);
        expect(await refusal('meant', 'const secnd = 2;', '')).toMatch(
          /closest part of the file:\n +1\tconst first = 1;\n +2\tconst second = 2;/,
        );
        expect(await refusal('meant', 'const ', '')).toMatch(/there 2 times, at lines 1, 2/);
        expect(await contentOf('meant')).toBe(`const first = 1;\nconst second = 2;\n${more}`);
      });

      it('makes a file large or small by an edit', async () => {
        await tools.sandbox.writeFile('grows', `x\n${more}`);
        await edit('grows', 'x\n', filler.replaceAll('filler', 'grown'));
        expect(await contentOf('grows')).toBe(filler.replaceAll('filler', 'grown') + more);
        await edit('grows', filler.replaceAll('filler', 'grown'), 'x\n');
        expect(await contentOf('grows')).toBe(`x\n${more}`);
      });

      it('keeps concurrent changes of another process', async () => {
        await tools.sandbox.writeFile('busy', `0\n${more}`);
        const writer = await tools.start('while :; do printf "%s\\n%s" "$RANDOM" "$1" >busy.new; mv busy.new busy; done', { args: [more] });
        const results = await Promise.all(
          Array.from({ length: 10 }, () => tools.failure('edit_file', { path: 'busy', edits: [{ old_text: 'not there', new_text: 'x' }] })),
        );
        await writer.kill('KILL');
        for (const text of results) expect(text).toMatch(/not in the file|was changed meanwhile|no file busy/);
      });
    });

    it('applies ten simultaneous edits of one file', async () => {
      await tools.sandbox.writeFile('shared', Array.from({ length: 10 }, (_, index) => `line ${index};`).join('\n'));
      await Promise.all(Array.from({ length: 10 }, (_, index) => edit('shared', `line ${index};`, `edited ${index};`)));
      expect(await contentOf('shared')).toBe(Array.from({ length: 10 }, (_, index) => `edited ${index};`).join('\n'));
    });

    it('limits the difference it shows', async () => {
      await tools.sandbox.writeFile('much', Array.from({ length: 1500 }, (_, index) => `line ${index} ${'x'.repeat(30)}`).join('\n'));
      const { diff, diff_truncated } = await edit('much', 'line', 'row', true);
      expect(diff_truncated).toBe(true);
      expect(diff.length).toBeLessThanOrEqual(maxBytes / 2);
    });

    it('refuses to edit a file that is not text, with the reason', async () => {
      await tools.sandbox.writeFile('binary', Buffer.from([65, 0, 66]));
      await tools.sandbox.writeFile('latin', Buffer.from('f\xfcr', 'latin1'));
      await tools.output('mkdir -p directory; [[ -e pipe ]] || mkfifo pipe; truncate -s 20M twenty; tr "\\0" a <twenty >text; rm twenty');
      expect(await refusal('binary', 'A', 'B')).toMatch(/is not UTF-8 text/);
      expect(await refusal('latin', 'f', 'B')).toMatch(/is not UTF-8 text/);
      expect(await refusal('text', 'a', 'b')).toMatch(/20971520 bytes, more than 8 MiB\. .*sed/);
      expect(await refusal('directory', 'A', 'B')).toMatch(/is a directory/);
      expect(await refusal('pipe', 'A', 'B')).toMatch(/is a named pipe/);
      expect(await refusal('cod.ts', 'A', 'B')).toMatch(/no file cod\.ts .*Similar names there: code\.ts/);
      expect(await refusal('code.ts', '', 'B')).toMatch(/edits\.0\.old_text: old_text cannot be empty/);
      expect(await tools.failure('edit_file', { path: 'code.ts', edits: [] })).toMatch(/edits: /);
      expect(await tools.output('od -An -c binary; rm text')).toMatch(/A +\\0 +B/);
    });

    it('keeps the file when the edit is interrupted before', async () => {
      await tools.sandbox.writeFile('whole', 'whole');
      const input = { path: 'whole', edits: [{ old_text: 'whole', new_text: 'changed' }] };
      await tools.failure('edit_file', input, { signal: AbortSignal.abort() });
      expect(await contentOf('whole')).toBe('whole');
    });
  });
}
