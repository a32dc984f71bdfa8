import type { JSX } from 'preact';
import { clock } from './clock.ts';
import { Icon } from './icons.tsx';
import type { Chat } from './wire.ts';

interface SidebarProps {
  chats: readonly Chat[];
  current: string | undefined;
  isOpen: boolean;
  open: (chat: string | undefined) => void;
  close: () => void;
  openSecrets: () => void;
  openBrowsers: () => void;
  signOut: () => void;
}

export function Sidebar({ chats, current, isOpen, open, close, openSecrets, openBrowsers, signOut }: SidebarProps): JSX.Element {
  // A chat in which nothing was said yet is no session to come back to.
  const shown = chats.filter(({ id, title }) => title !== '' || id === current);
  return (
    <>
      <button
        type="button"
        class={`backdrop${isOpen ? ' open' : ''}`}
        aria-label="Close the list of sessions"
        tabIndex={-1}
        onClick={close}
      />
      <nav class={`sidebar${isOpen ? ' open' : ''}`} aria-label="Sessions">
        <div class="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <span>Hermetic</span>
        </div>
        <button type="button" class="new" onClick={() => open(undefined)}>
          <Icon name="plus" />
          New session
        </button>
        <ul class="sessions">
          {shown.map(({ id, title, lastActiveAt }) => (
            <li key={id}>
              <button
                type="button"
                class={id === current ? 'current' : ''}
                aria-current={id === current ? 'page' : undefined}
                onClick={() => open(id)}
              >
                <span class="session-title">{title || 'New session'}</span>
                <time dateTime={lastActiveAt}>{ago(lastActiveAt)}</time>
              </button>
            </li>
          ))}
        </ul>
        <div class="side-foot">
          <button type="button" class="quiet" aria-haspopup="dialog" onClick={openSecrets}>
            <Icon name="key" />
            Secrets
          </button>
          <button type="button" class="quiet" aria-haspopup="dialog" onClick={openBrowsers}>
            Browsers
          </button>
          <button type="button" class="quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </nav>
    </>
  );
}

function ago(time: string): string {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock(date) : date.toLocaleDateString([], { day: 'numeric', month: 'short' });
}
