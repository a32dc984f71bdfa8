import type { JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { ConnectionContext } from './connection.tsx';
import { Panel } from './panel.tsx';
import { QrCode } from './qr-code.tsx';
import type { Status } from './wire.ts';

export function StatusPanel({ status, close }: { status: Status | undefined; close: () => void }): JSX.Element {
  const isKnown = useContext(ConnectionContext).connection === 'open';
  return (
    <Panel title="Status" close={close}>
      {!status && <p>Loading…</p>}
      {status?.sections.map(({ title, lines }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {lines.map(({ label, value, tone, qr }, index) => (
              <div key={index}>
                {label !== '' && <dt>{label}</dt>}
                <dd class={isKnown ? (tone ?? '') : ''}>
                  {value}
                  {qr && <QrCode text={qr} />}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Panel>
  );
}
