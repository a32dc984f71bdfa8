/** What a command printed, and below it what is to be said of it, each remark on a line of its own. */
export function withRemarks(printed: string, ...remarks: readonly (string | undefined)[]): string {
  const lines = remarks.flatMap((remark) => (remark ? [`[${remark}]`] : []));
  if (printed === '') return lines.join('\n') || '[no output]';
  return lines.length === 0 ? printed : `${printed}${printed.endsWith('\n') ? '' : '\n'}${lines.join('\n')}`;
}
