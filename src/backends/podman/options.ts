import * as z from 'zod';
import { markRestart, notes, word } from '../../lib/setting-kinds.ts';

export const podmanOptions = z.strictObject({
  podman_image: word('an image').default('docker.io/nikolaik/python-nodejs:python3.11-nodejs20').describe('Image of the podman backend.'),
  podman_host: z
    .string()
    .regex(/^unix:\/\/\/[^\s\0]+$/)
    .register(notes, { expects: 'unix:///path' })
    .optional()
    .describe('Where the podman service listens; unset looks in the usual places.'),
});

markRestart(podmanOptions, 'podman_host');
