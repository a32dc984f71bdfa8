import type { Egress } from '../core/egress.ts';

/** The parameters of every backend. */
export interface BackendContext {
  /** Marks what belongs to this installation, on engines that several share. */
  installation: string;
  /** Sandboxes of one backend live in `<sandboxesDirectory>/<kind>/<name>`. */
  sandboxesDirectory: string;
  /** The environment of the host, for finding engines. Nothing of it enters a sandbox. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The way out of sandboxes whose network is `restricted`. */
  egress: Egress;
}
