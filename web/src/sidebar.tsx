import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { clock } from './clock.ts';
import { Icon } from './icons.tsx';
import type { Chats } from './use-chats.ts';

interface SidebarProps {
  chats: Chats;
  current: string | undefined;
  /** On a phone, where the list is over the page. */
  isOpen: boolean;
  open: (chat: string | undefined) => void;
  close: () => void;
  openSecrets: () => void;
  openBrowsers: () => void;
  signOut: () => void;
}

export function Sidebar({ chats, current, isOpen, open, close, openSecrets, openBrowsers, signOut }: SidebarProps): JSX.Element {
  const { search, hasOlder } = chats;
  // A chat in which nothing was said yet is no session to come back to.
  const shown = chats.shown.filter(({ id, title }) => title !== '' || id === current);
  const first = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (isOpen) first.current?.focus();
  }, [isOpen]);
  return (
    <>
      <button
        type="button"
        class={`backdrop${isOpen ? ' open' : ''}`}
        aria-label="Close the list of sessions"
        tabIndex={-1}
        onClick={close}
      />
      <nav
        class={`sidebar${isOpen ? ' open' : ''}`}
        aria-label="Sessions"
        onKeyDown={({ key }) => {
          if (key === 'Escape' && isOpen) close();
        }}
        onFocusOut={({ currentTarget, relatedTarget }) => {
          if (isOpen && relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) close();
        }}
      >
        <div class="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <span>Hermetic</span>
        </div>
        <button type="button" class="new" ref={first} onClick={() => open(undefined)}>
          <Icon name="plus" />
          New session
        </button>
        <input
          type="search"
          class="search"
          aria-label="Search sessions"
          placeholder="Search"
          maxLength={200}
          value={search}
          onInput={({ currentTarget }) => chats.setSearch(currentTarget.value)}
        />
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
          {shown.length === 0 && search !== '' && !hasOlder && <li class="none">No session has these words in its title.</li>}
          {hasOlder && (
            <li>
              <button type="button" class="quiet older" onClick={() => void chats.loadOlder().catch(() => undefined)}>
                Show older sessions
              </button>
            </li>
          )}
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
