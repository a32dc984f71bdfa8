/** Which sandboxes at a provider are ours, and whose. */
export const labelNames = {
  installation: 'hermetic-installation',
  name: 'hermetic-name',
  probe: 'hermetic-probe',
  attempt: 'hermetic-attempt',
} as const;

export function labelsOf(installation: string, name: string): Record<string, string> {
  return { [labelNames.installation]: installation, [labelNames.name]: name };
}
