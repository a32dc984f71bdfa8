import type { Proof, ProofLine } from '../core/proof.ts';
import { shortPrintable } from './ground.ts';

/** For a terminal. Security: no text from a sandbox can move the cursor. */
export function proofText(proof: Proof): string {
  const width = Math.max(0, ...proof.lines.map(({ check }) => check.length));
  const rows = proof.lines.flatMap(({ check, verdict, tried, happened }) => {
    const indent = ' '.repeat(width + 11);
    return [
      `${verdict.padEnd(8)} ${shortPrintable(check).padEnd(width)}  ${shortPrintable(tried)}`,
      `${indent}${shortPrintable(happened)}`,
    ];
  });
  return [...rows, summary(proof), ''].join('\n');
}

function summary({ lines, held, provenAt }: Proof): string {
  const count = (verdict: ProofLine['verdict']): number => lines.filter((each) => each.verdict === verdict).length;
  const counts = (['held', 'broken', 'open', 'unknown'] as const).map((verdict) => `${count(verdict)} ${verdict}`).join(', ');
  return `${held ? 'Contained' : 'Not contained'}: ${counts}; ${provenAt.toISOString()}.`;
}

/** The form that `--json` prints and the database keeps. */
export function proofJson({ provenAt, held, lines }: Proof): { provenAt: string; held: boolean; lines: ProofLine[] } {
  return {
    provenAt: provenAt.toISOString(),
    held,
    lines: lines.map(({ check, tried, happened, verdict }) => ({ check, tried, happened: shortPrintable(happened), verdict })),
  };
}
