import { createContext, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import type { Connection } from './stream.ts';

/** For all views: whether the gateway answers, and how to look now. */
export const ConnectionContext = createContext<{ connection: Connection; retryNow: () => void }>({
  connection: 'connecting',
  retryNow: () => undefined,
});

const words = { open: 'Connected', connecting: 'Connecting…', waiting: 'Offline' } as const;

export function ConnectionState(): JSX.Element {
  const { connection } = useContext(ConnectionContext);
  return (
    <span class={`connection ${connection}`} role="status" title={words[connection]}>
      <span class="dot" />
      <span class="connection-words">{words[connection]}</span>
    </span>
  );
}

/** Shown while the gateway does not answer. */
export function Offline({ children }: { children: string }): JSX.Element | null {
  const { connection, retryNow } = useContext(ConnectionContext);
  if (connection !== 'waiting') return null;
  return (
    <div class="offline" role="status">
      <span>The gateway does not answer. {children}</span>
      <button type="button" class="quiet" onClick={retryNow}>
        Try now
      </button>
    </div>
  );
}
