import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';
import type { Status } from './wire.ts';

export function StatusPanel({ status, close }: { status: Status | undefined; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="status-panel" ref={dialog} aria-labelledby="status-title" closedby="any" onClose={close}>
      <div class="status-content">
        <header>
          <h2 id="status-title">Status</h2>
          <button type="button" class="quiet round" aria-label="Close" onClick={() => dialog.current?.close()}>
            <Icon name="cross" />
          </button>
        </header>
        {!status && <p>Loading…</p>}
        {status?.sections.map(({ title, lines }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {lines.map(({ label, value, tone }, index) => (
                <div key={index}>
                  {label !== '' && <dt>{label}</dt>}
                  <dd class={tone ?? ''}>{value}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
