import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ensureImage, findImage } from '../../../src/backends/singularity/image.ts';
import { type OpenListener, quiet } from '../../../src/core/sandbox.ts';
import { processName } from '../../../src/lib/process-name.ts';
import { apptainer, reachableDirectory, smallArchive } from '../../apptainer.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import { describeBackend, processesWith } from '../../engines.ts';
import { itNeeding } from '../../needs.ts';
import { until } from '../../until.ts';

const directory = reachableDirectory();
const archive = smallArchive(directory);
const image = `docker-archive:${archive}`;
const imageDirectory = join(directory, 'images');
const options = { singularity_program: apptainer, singularity_image: image, singularity_image_directory: imageDirectory };

/** Apptainer, which first notes that it was started, and goes on when the file `go` is there. */
function held(name: string): { program: string; starts(): string[]; go(): void; work: string } {
  const own = join(directory, name);
  mkdirSync(own);
  // As root, another user runs it.
  chmodSync(own, 0o777);
  const program = join(own, 'apptainer');
  const script = `#!/bin/bash\necho "$*" >>${own}/starts\nuntil [ -e ${own}/go ]; do sleep 0.02; done\nexec ${apptainer} "$@"\n`;
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  const starts = () =>
    existsSync(join(own, 'starts'))
      ? readFileSync(join(own, 'starts'), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
      : [];
  return { program, starts, go: () => writeFileSync(join(own, 'go'), ''), work: join(own, 'images') };
}

const leftIn = (path: string): string[] => readdirSync(path).filter((name) => /work|lock/.test(name));

/** Another program that wants the image. */
function converter(program: string, work: string, source = image) {
  const script = `
    import { ensureImage } from ${JSON.stringify(`file://${join(import.meta.dirname, '../../../src/backends/singularity/image.ts')}`)};
    const quiet = { notice: () => undefined, progress: () => undefined };
    const { directory } = await ensureImage(process.argv[1], { program: process.argv[2], imageDirectory: process.argv[3] }, quiet);
    console.log(directory);
  `;
  const words = ['--input-type=module-typescript', '-e', script, source, program, work];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

await describeBackend(
  'singularity',
  (engine) => {
    it('converts an image once, says how far it is, and keeps the variables of the image', async () => {
      const told: string[] = [];
      const listener: OpenListener = { ...quiet, progress: (text) => told.push(text) };
      const opened = await engine.backend.open(engine.spec({ persistent: false }), listener);
      const { stdout } = await collect(await opened.exec({ command: 'echo $PATH $OF_THE_IMAGE; env | cat; ls /.singularity.d' }));
      expect(stdout).toMatch(/^\/opt\/own:\/usr\/bin:\S*:\/home\/agent\/\.local\/bin yes\n/);
      expect(stdout).not.toMatch(/APPTAINER|SINGULARITY|hermetic-apptainer/);
      expect(told.join('\n')).toMatch(/converting .*small\.tar[\s\S]*Extracting OCI image/);
      await opened.destroy();
      told.length = 0;
      const again = await engine.backend.open(engine.spec({ persistent: false }), listener);
      await again.destroy();
      expect(told).toEqual([]);
      expect(leftIn(imageDirectory)).toEqual([]);
    });

    it('makes a sandbox of a SIF file, and of the next one in its place', async () => {
      const file = join(directory, 'small.sif');
      const build = () =>
        execFileSync(apptainer, ['--silent', 'build', '--force', file, join(directory, 'small-root')], { stdio: 'ignore' });
      build();
      const first = await ensureImage(file, { program: apptainer, imageDirectory }, quiet);
      const sandbox = await engine.open(engine.spec({ image: file }));
      expect((await collect(await sandbox.exec({ command: 'echo "$BASH"' }))).stdout).toBe('/usr/bin/bash\n');
      await sandbox.destroy();
      writeFileSync(join(directory, 'small-root/etc/new'), '');
      build();
      const second = await ensureImage(file, { program: apptainer, imageDirectory }, quiet);
      expect(second.directory).not.toBe(first.directory);
      expect([first, second].map((one) => existsSync(join(one.directory, 'etc/new')))).toEqual([false, true]);
    });

    it('converts once for two programs that want the image at the same time', async () => {
      const { program, starts, go, work } = held('two');
      const both = [converter(program, work), converter(program, work)];
      const outputs = both.map(async (child) => String((await once(child.stdout, 'data'))[0]));
      await until('one has begun', () => starts().length > 0);
      go();
      const [first, second] = await Promise.all(outputs);
      expect(first).toBe(second);
      expect([starts().length, leftIn(work)]).toEqual([1, []]);
    });

    it('ends a conversion whose program was killed, and never uses what is left of it', async () => {
      const { program, starts, go, work } = held('killed');
      const child = converter(program, work);
      await until('it has begun', () => starts().length === 1);
      const left = leftIn(work).find((name) => name.includes('work')) ?? '';
      mkdirSync(join(work, left, 'root'));
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await until('its Apptainer is gone', () => processesWith(program).length === 0);
      expect(await findImage(image, { imageDirectory: work })).toBeUndefined();
      go();
      const made = await ensureImage(image, { program, imageDirectory: work }, quiet);
      expect(existsSync(join(made.directory, 'usr/bin/bash'))).toBe(true);
      expect([starts().length, leftIn(work)]).toEqual([2, []]);
    });

    it('stops a conversion when it is not wanted any more', async () => {
      const { program, starts, work } = held('unwanted');
      const controller = new AbortController();
      const wanted = ensureImage(image, { program, imageDirectory: work }, quiet, controller.signal);
      await until('it has begun', () => starts().length === 1);
      controller.abort(new Error('enough'));
      await expect(wanted).rejects.toThrow('enough');
      expect([processesWith(program), leftIn(work)]).toEqual([[], []]);
    });

    it('stops a conversion that is not wanted any more when its program has only just been started', async () => {
      const { program, work } = held('too-early');
      const controller = new AbortController();
      const progress = (text: string): void => {
        // Said before the program starts, and heard of after it was looked at.
        if (text.startsWith('converting')) queueMicrotask(() => controller.abort(new Error('enough')));
      };
      const wanted = ensureImage(image, { program, imageDirectory: work }, { ...quiet, progress }, controller.signal);
      await expect(wanted).rejects.toThrow('enough');
      expect([processesWith(program), leftIn(work)]).toEqual([[], []]);
    });

    it('removes what a conversion of another image left, unless that is still at work', async () => {
      const work = join(directory, 'left-overs');
      const [dead, alive] = ['a'.repeat(32), 'b'.repeat(32)];
      for (const key of [dead, alive]) mkdirSync(join(work, `${key}.work-1`, 'root'), { recursive: true });
      writeFileSync(join(work, `${alive}.lock`), processName());
      await ensureImage(image, { program: apptainer, imageDirectory: work }, quiet);
      expect(leftIn(work)).toEqual([`${alive}.lock`, `${alive}.work-1`]);
    });

    it('takes no link for an image, neither one among the converted ones nor one from the program that unpacks', async () => {
      const own = join(directory, 'links');
      const [work, victim, program] = [join(own, 'images'), join(own, 'victim'), join(own, 'apptainer')];
      for (const path of [work, victim]) mkdirSync(path, { recursive: true });
      chmodSync(victim, 0o700);
      writeFileSync(program, `#!/bin/bash\nln -s ${victim} "\${@: -2:1}"\n`);
      chmodSync(program, 0o755);
      const wanted = ensureImage(image, { program, imageDirectory: work }, quiet);
      await expect(wanted).rejects.toMatchObject({ code: 'sandbox/no-image' });
      expect([statSync(victim).mode & 0o777, readdirSync(work)]).toEqual([0o700, []]);
      const { key } = await ensureImage(image, { program: apptainer, imageDirectory }, quiet);
      symlinkSync(victim, join(work, key));
      expect(await findImage(image, { imageDirectory: work })).toBeUndefined();
    });

    it('uses no images from a directory that other users can write to', async () => {
      const shared = join(directory, 'shared');
      mkdirSync(shared);
      chmodSync(shared, 0o777);
      const refusal = { code: 'sandbox/no-image', hint: expect.stringContaining('terminal.singularity_image_directory') };
      await expect(findImage(image, { imageDirectory: shared })).rejects.toMatchObject(refusal);
      await expect(ensureImage(image, { program: apptainer, imageDirectory: shared }, quiet)).rejects.toMatchObject(refusal);
      chmodSync(shared, 0o700);
      symlinkSync(shared, join(directory, 'link'));
      await expect(findImage(image, { imageDirectory: join(directory, 'link') })).rejects.toMatchObject(refusal);
      if (process.getuid?.() === 0) {
        chownSync(shared, 12345, 12345);
        await expect(findImage(image, { imageDirectory: shared })).rejects.toMatchObject(refusal);
      }
    });

    it.each([
      ['a name without a way to get it', 'debian:12', 'is no image for Apptainer'],
      ['an option', '--help', 'is no image for Apptainer'],
      ['a file that does not exist', '/nowhere/x.sif', 'does not exist'],
      ['a file that is no image', join(import.meta.dirname, 'images.test.ts'), 'could not be converted'],
    ])('refuses %s, and leaves nothing behind', async (_, wrong, says) => {
      const work = join(directory, 'refused');
      mkdirSync(work, { recursive: true });
      const wanted = ensureImage(wrong, { program: apptainer, imageDirectory: work }, quiet);
      await expect(wanted).rejects.toMatchObject({ code: 'sandbox/no-image', message: expect.stringContaining(says) });
      expect(readdirSync(work)).toEqual([]);
    });

    itNeeding(['root'], 'says that there is no space for the image', async () => {
      const small = join(directory, 'full');
      mkdirSync(small);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'hermetic', small]);
      try {
        const wanted = ensureImage(image, { program: apptainer, imageDirectory: small }, quiet);
        await expect(wanted).rejects.toMatchObject({ code: 'sandbox/no-image', message: expect.stringContaining('no space left') });
        expect(readdirSync(small)).toEqual([]);
      } finally {
        execFileSync('umount', [small]);
      }
    });
  },
  { title: 'images of the singularity backend', options, image },
);
