import type { ComponentChildren, JSX, Ref } from 'preact';

interface ScrollingProps {
  class?: string;
  element?: Ref<HTMLPreElement>;
  children: ComponentChildren;
}

/** Text as it is, which scrolls when there is too much of it. */
export function Scrolling({ class: name = '', element = null, children }: ScrollingProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre class={name} ref={element} tabIndex={0}>
      {children}
    </pre>
  );
}
