import type { JSX } from 'preact';

export function Failure({ text }: { text: string }): JSX.Element {
  return (
    <p class="failure" role="alert">
      {text}
    </p>
  );
}
