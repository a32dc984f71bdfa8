import { z } from 'zod';

/** A path inside the sandbox; nothing of it is ever opened outside. */
export const pathSchema = z
  .string()
  .min(1, 'a path cannot be empty')
  .max(4096, 'a path has at most 4096 characters')
  .refine((path) => !path.includes('\0'), 'a path cannot contain a NUL character');
