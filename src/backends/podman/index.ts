import type { BackendDriver } from '../driver.ts';
import { EngineBackend } from '../engine/engine-backend.ts';
import { findPodman, podmanSockets } from './discover.ts';
import { podmanOptions } from './options.ts';

export const podman: BackendDriver<typeof podmanOptions> = {
  kind: 'podman',
  summary: 'A hardened container of any image, as docker, by a podman service of root or of the user alone.',
  options: podmanOptions,
  image: ({ podman_image: image }) => image,
  engineSockets({ podman_host: host }, environment) {
    const [, named] = /^unix:\/\/(.+)/.exec(host ?? environment.CONTAINER_HOST ?? '') ?? [];
    return [...(named === undefined ? [] : [named]), ...podmanSockets(environment)];
  },
  create(context, { podman_image: image, podman_host: podmanHost }) {
    return new EngineBackend(context, {
      kind: 'podman',
      find: () => findPodman({ environment: context.environment, podmanHost }),
      image,
      runtime: undefined,
      extraArgs: [],
      settings: [podmanHost ?? ''],
    });
  },
};
