import { expect, it } from 'vitest';
import { loadPackage } from '../../src/backends/cloud/load-package.ts';
import { installedVersion } from '../../src/lib/optional-package.ts';

it('knows the version of an installed package, also of one that does not show its package.json', async () => {
  expect(await installedVersion('zod')).toMatch(/^4\./);
  expect(await installedVersion('modal')).toBe('0.11.1');
  expect(await installedVersion('no-such-package')).toBeUndefined();
});

it.each([
  ['no-such-package', 'it is not installed'],
  ['zod', '4.6.7 is installed'],
])('says which version of %s to install, and how, and loads nothing', async (name, reason) => {
  const load = (): Promise<never> => expect.fail('it was loaded');
  await expect(loadPackage('The provider', { name, version: '1.2.3' }, load)).rejects.toMatchObject({
    code: 'backend/not-installed',
    message: `The provider needs the package ${name} in version 1.2.3, and ${reason}.`,
    hint: expect.stringContaining(`npm install ${name}@1.2.3`),
  });
});
