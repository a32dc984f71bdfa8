import type { BackendDriver } from '../driver.ts';
import { EngineBackend } from '../engine/engine-backend.ts';
import { findDocker, userEngineSockets } from './discover.ts';
import { dockerOptions } from './options.ts';

export const docker: BackendDriver<typeof dockerOptions> = {
  kind: 'docker',
  summary: 'A hardened container of any image, kept for the session with what was installed in it.',
  options: dockerOptions,
  auto: { when: 'when an engine answers and the image is there or can be pulled' },
  image: ({ docker_image: image }) => image,
  engineSockets({ docker_host: host }, environment) {
    const [, named] = /^unix:\/\/(.+)/.exec(host ?? environment.DOCKER_HOST ?? '') ?? [];
    return [...(named === undefined ? [] : [named]), ...userEngineSockets(environment)];
  },
  create(context, { docker_image: image, docker_host: dockerHost, docker_cert_path: certPath, ...options }) {
    const { docker_runtime: runtime, docker_extra_args: extraArgs } = options;
    return new EngineBackend(context, {
      kind: 'docker',
      find: () => findDocker({ environment: context.environment, dockerHost, certPath }),
      image,
      runtime,
      extraArgs,
      settings: [dockerHost ?? '', runtime ?? '', ...extraArgs],
    });
  },
};
