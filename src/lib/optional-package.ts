import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';

/** A package that the user installs, because few need it. */
export interface OptionalPackage {
  name: string;
  /** The version that the code was written for and tested with. */
  version: string;
}

/** The remedy, as a sentence. */
export function howToInstall({ name, version }: OptionalPackage): string {
  return `Run npm install ${name}@${version} where Hermetic is installed (with -g if it was installed with -g).`;
}

/** undefined when it is not installed. */
export async function installedVersion(name: string): Promise<string | undefined> {
  try {
    const path = findPackageJSON(name, import.meta.url);
    return path && (JSON.parse(await readFile(path, 'utf8')) as { version?: string }).version;
  } catch {
    return undefined;
  }
}
