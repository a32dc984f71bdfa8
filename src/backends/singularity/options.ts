import * as z from 'zod';
import { flag, markRestart, notes, word } from '../../lib/setting-kinds.ts';

export const singularityOptions = z.strictObject({
  singularity_image: word('an image')
    .default('docker://nikolaik/python-nodejs:python3.11-nodejs20')
    .describe(
      'Image of the singularity backend: `docker://`, `oras://` or `library://` and a reference, `docker-archive:` or `oci-archive:` and the path of a file, or the absolute path of a SIF file or of a directory.',
    ),
  singularity_program: absolutePath().optional().describe('The program `apptainer`; unset looks in the usual places.'),
  singularity_image_directory: absolutePath()
    .optional()
    .describe('Where converted images are kept, and made: needs room for an unpacked image. Unset is a directory beside the sandboxes.'),
  singularity_overlay: flag()
    .default(true)
    .describe(
      'Keeps changes outside of home and workspace in an overlay of the session. `false` is for file systems that cannot hold one, such as NFS and Lustre: the image is read-only then.',
    ),
});

markRestart(singularityOptions, 'singularity_program', 'singularity_image_directory', 'singularity_overlay');

export type SingularityOptions = z.output<typeof singularityOptions>;

function absolutePath() {
  return z
    .string()
    .regex(/^\/[^\0]*$/)
    .register(notes, { expects: 'an absolute path' });
}
