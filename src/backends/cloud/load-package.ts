import { HermeticError } from '../../core/errors.ts';
import { howToInstall, installedVersion, type OptionalPackage } from '../../lib/optional-package.ts';

/** Loads the package of a provider, on first use. Rejects when it is not installed, or is another version. */
export async function loadPackage<Module>(product: string, wanted: OptionalPackage, load: () => Promise<Module>): Promise<Module> {
  const { name, version } = wanted;
  const installed = await installedVersion(name);
  if (installed === version) return await load();
  const instead = installed === undefined ? 'it is not installed' : `${installed} is installed`;
  throw new HermeticError('backend/not-installed', `${product} needs the package ${name} in version ${version}, and ${instead}.`, {
    hint: howToInstall(wanted),
  });
}
