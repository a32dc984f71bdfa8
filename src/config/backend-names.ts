export const backendNames = [
  'auto',
  'local',
  'bubblewrap',
  'docker',
  'podman',
  'ssh',
  'singularity',
  'modal',
  'daytona',
  'kubernetes',
  'vercel',
] as const;
