import { describeNeeding } from '../needs.ts';

/** Tests that need root and network namespaces. */
export function describeNamespaces(title: string, body: () => void): void {
  describeNeeding(['network-namespaces'], title, body);
}
