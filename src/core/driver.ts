import type * as z from 'zod';

/** The one form in which an implementation joins a set, such as the backends. */
export interface Driver<Context, Product, Options extends z.ZodObject = z.ZodObject> {
  readonly kind: string;
  /** One line, for help and documentation. */
  readonly summary: string;
  /** The only definition of its part of the configuration. */
  readonly options: Options;
  /** No input or output happens here. */
  create(context: Context, options: z.output<Options>): Product;
}
