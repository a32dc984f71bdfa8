/** The one form in which an implementation joins a set, such as the backends. */
export interface Driver<Options, Product> {
  readonly kind: string;
  /** One line, for help and documentation. */
  readonly summary: string;
  /** No input or output happens here. */
  create(options: Options): Product;
}
