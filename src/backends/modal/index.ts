import { canonicalJson } from '../../lib/canonical-json.ts';
import { CloudBackend } from '../cloud/backend.ts';
import type { BackendDriver } from '../driver.ts';
import { ModalAccess } from './access.ts';
import { modalOptions } from './options.ts';
import { ModalProvider } from './provider.ts';
import { enforcement } from './resources.ts';

export const modal: BackendDriver<typeof modalOptions> = {
  kind: 'modal',
  summary: 'A sandbox of any image at Modal, on its machines and for its price, kept for the session.',
  options: modalOptions,
  image: ({ modal_image: image }) => image,
  create: (context, options) =>
    new CloudBackend(context, {
      kind: 'modal',
      product: 'Modal',
      image: options.modal_image,
      settings: [canonicalJson([options.modal_app])],
      provider: new ModalProvider(new ModalAccess(context.environment), options),
      enforcement,
      installing:
        'You are root in it: packages can be installed with the package manager of the image (apt-get, apk), pip or npm, where the image has them. They are kept with the files of the session.',
      honours: { image: true, 'network-none': true },
    }),
};
