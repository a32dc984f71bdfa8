import { canonicalJson } from '../../lib/canonical-json.ts';
import { CloudBackend } from '../cloud/backend.ts';
import type { BackendDriver } from '../driver.ts';
import { vercelOptions } from './options.ts';
import { VercelProvider } from './provider.ts';
import { enforcement } from './size.ts';

export const vercel: BackendDriver<typeof vercelOptions> = {
  kind: 'vercel',
  summary: 'A virtual machine at Vercel, whose files are saved when it stops.',
  options: vercelOptions,
  image: ({ vercel_image: image }) => image,
  create: (context, options) => {
    const { vercel_image: image, ...others } = options;
    return new CloudBackend(context, {
      kind: 'vercel',
      product: 'Vercel',
      image,
      settings: [canonicalJson(others)],
      provider: new VercelProvider(context.environment, options),
      enforcement,
      installing:
        'If you are not root in it, sudo works without a password: packages can be installed with the package manager of the image (apt-get, dnf), pip or npm, where the image has them. They are kept with the files of the session.',
      honours: { image: true, 'network-none': true },
    });
  },
};
