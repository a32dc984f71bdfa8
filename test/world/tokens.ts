/** The credentials of hosts of the world, by the name of the secret. Sandboxes must never see one. */
export const tokens = {
  GIT_TOKEN: 'ghp_WorldGitTokenThatNoSandboxMaySee0001',
  NPM_TOKEN: 'npm_WorldNpmTokenThatNoSandboxMaySee0002',
  PYPI_TOKEN: 'world-index-password-no-sandbox-sees-3',
  DEB_TOKEN: 'world-archive-password-no-sandbox-sees-4',
  GO_TOKEN: 'world-modules-password-no-sandbox-sees-6',
  CARGO_REGISTRIES_WORLD_TOKEN: 'world-crates-token-no-sandbox-may-see-7',
  /** Is written differently in JSON, in URLs and in base64 for URLs. */
  API_KEY: 'World"key\\that+no/sandbox?may&see==>>??5',
} as const;

export type TokenName = keyof typeof tokens;
