import type { JSX } from 'preact';
import { encode } from 'uqr';

/** Dark on light, also on a dark page: many cameras read no other. */
export function QrCode({ text }: { text: string }): JSX.Element {
  const { data, size } = encode(text, { border: 4 });
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code" shape-rendering="crispEdges">
      <path d={squares.join('')} />
    </svg>
  );
}
