import * as z from 'zod';
import { markRestart, notes, url, word } from '../../lib/setting-kinds.ts';

export const vercelOptions = z.strictObject({
  vercel_image: word('an image')
    .default('vercel/sandbox/universal:latest')
    .describe('Image of the vercel backend: one of Vercel, or one of the Vercel Container Registry.'),
  vercel_region: z
    .string()
    .regex(/^[a-z]{3}[0-9]$/)
    .register(notes, { expects: 'a region of Vercel, such as iad1 or fra1' })
    .default('iad1')
    .describe('The region in which sandboxes run.'),
  vercel_api_root: url().optional().describe("A server to talk to instead of Vercel's own, such as a proxy."),
});

markRestart(vercelOptions, 'vercel_region', 'vercel_api_root');

export type VercelOptions = z.output<typeof vercelOptions>;
