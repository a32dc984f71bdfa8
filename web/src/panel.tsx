import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Offline } from './connection.tsx';
import { Icon } from './icons.tsx';

interface PanelProps {
  title: string;
  close: () => void;
  children: ComponentChildren;
}

/** At the side of the page, over everything else until it is closed. */
export function Panel({ title, close, children }: PanelProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="panel" ref={dialog} aria-labelledby="panel-title" closedby="any" onClose={close}>
      <div class="panel-content">
        <header>
          <h2 id="panel-title">{title}</h2>
          <button type="button" class="quiet round" aria-label="Close" onClick={() => dialog.current?.close()}>
            <Icon name="cross" />
          </button>
        </header>
        <Offline>This is how things were before.</Offline>
        {children}
      </div>
    </dialog>
  );
}
