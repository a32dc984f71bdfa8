import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { BrowsersPanel } from './browsers-panel.tsx';
import { ChatView } from './chat-view.tsx';
import { Composer } from './composer.tsx';
import { ConnectionContext, ConnectionState, Offline } from './connection.tsx';
import { Icon } from './icons.tsx';
import { Outbox, type Unsent } from './outbox.ts';
import { SecretsPanel } from './secrets-panel.tsx';
import { Sidebar } from './sidebar.tsx';
import { StatusPanel } from './status-panel.tsx';
import type { Connection } from './stream.ts';
import { Tabs } from './tabs.ts';
import { useChat } from './use-chat.ts';
import { useChats } from './use-chats.ts';
import type { FileInfo, Status } from './wire.ts';

const statusEveryMs = 15_000;

/** The page of a signed-in person. */
export function App({ signedOut }: { signedOut: () => void }): JSX.Element {
  const chats = useChats();
  const [chat, setChat] = useState(chatInAddress);
  const [unsent, setUnsent] = useState<readonly Unsent[]>([]);
  const [status, setStatus] = useState<Status>();
  const [isSidebarOpen, setSidebarOpen] = useState(false);
  const [isStatusOpen, setStatusOpen] = useState(false);
  const [areSecretsOpen, setSecretsOpen] = useState(false);
  const [areBrowsersOpen, setBrowsersOpen] = useState(false);
  const outbox = useMemo(() => new Outbox(setUnsent), []);

  const refreshList = chats.refresh;
  const refresh = useCallback(async () => {
    await refreshList();
    void outbox.send();
  }, [outbox, refreshList]);
  const [connection, setConnection] = useState<Connection>('connecting');
  const tabs = useMemo(() => new Tabs({ connection: setConnection, signedOut }), [signedOut]);
  useEffect(() => () => tabs.close(), [tabs]);
  const isConnected = connection === 'open';
  const isOffline = connection === 'waiting';
  const state = useChat(chat, tabs, connection, signedOut);
  const isRunning = state.timeline.turn !== undefined;

  useEffect(() => {
    setUnsent(outbox.unsent);
    const toAddress = (): void => setChat(chatInAddress());
    addEventListener('hashchange', toAddress);
    return () => removeEventListener('hashchange', toAddress);
  }, [outbox]);
  // The list changes with what is said, with turns that end, and while the gateway was gone.
  useEffect(() => {
    if (isOffline) return;
    refresh().catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 401) signedOut();
    });
  }, [chat, isRunning, unsent.length, isOffline, refresh]);
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden && !isOffline) void api.status().then(setStatus, () => undefined);
    };
    look();
    const timer = setInterval(look, statusEveryMs);
    return () => clearInterval(timer);
  }, [isStatusOpen, isRunning, isOffline]);

  const open = (id: string | undefined): void => {
    location.hash = id === undefined ? '' : `/chats/${id}`;
    setChat(id);
    closeSidebar();
  };
  const menu = useRef<HTMLButtonElement>(null);
  // The list is hidden then, with what had the focus.
  const closeSidebar = (): void => {
    if (!isSidebarOpen) return;
    setSidebarOpen(false);
    menu.current?.focus();
  };
  const openChat = async (): Promise<string> => {
    if (chat !== undefined) return chat;
    const { id } = await api.createChat();
    open(id);
    return id;
  };
  const send = async (text: string, files: readonly FileInfo[] = []): Promise<void> => {
    outbox.add({ id: crypto.randomUUID(), chat: await openChat(), text, files });
  };
  const title = chats.titleOf(chat) || state.title || 'New session';
  useEffect(() => {
    document.title = chat === undefined ? 'Hermetic' : `${title} · Hermetic`;
  }, [title, chat]);

  return (
    <div class={`app${isConnected ? '' : ' unsure'}`}>
      <ConnectionContext.Provider value={{ connection, retryNow: tabs.retryNow }}>
        <Sidebar
          chats={chats}
          current={chat}
          isOpen={isSidebarOpen}
          open={open}
          close={closeSidebar}
          openSecrets={() => {
            closeSidebar();
            setSecretsOpen(true);
          }}
          openBrowsers={() => {
            setSidebarOpen(false);
            setBrowsersOpen(true);
          }}
          signOut={() => void api.logout().finally(() => tabs.signOut())}
        />
        <main class="main">
          <header class="top">
            <button
              type="button"
              class="quiet round menu"
              ref={menu}
              aria-label="Sessions"
              aria-expanded={isSidebarOpen}
              onClick={() => setSidebarOpen(!isSidebarOpen)}
            >
              <Icon name="menu" />
            </button>
            <h1>{title}</h1>
            <ConnectionState />
            <button type="button" class="quiet status-button" aria-haspopup="dialog" onClick={() => setStatusOpen(true)}>
              <span class={`dot ${isConnected ? (status?.summary.tone ?? '') : ''}`} />
              <span>{isOffline ? 'Gateway offline' : (status?.summary.value ?? 'Status')}</span>
            </button>
          </header>
          <Offline>Nothing is lost; what you send goes out when it is back.</Offline>
          {status?.obstacle && (
            <div class="obstacle" role="alert">
              {status.obstacle}
            </div>
          )}
          <ChatView
            chat={chat}
            state={state}
            unsent={unsent}
            remove={(id) => outbox.remove(id)}
            say={(text) => void send(text)}
            where={status?.where ?? ''}
          />
          <Composer
            chat={chat}
            openChat={openChat}
            isRunning={isRunning}
            maxFileBytes={state.maxFileBytes}
            send={send}
            stop={async () => {
              if (chat !== undefined) await api.stop(chat);
            }}
          />
        </main>
        {state.notice !== '' && (
          <div class="notice" role="status">
            {state.notice}
          </div>
        )}
        {areSecretsOpen && <SecretsPanel close={() => setSecretsOpen(false)} />}
        {areBrowsersOpen && <BrowsersPanel close={() => setBrowsersOpen(false)} signedOut={() => tabs.signOut()} />}
        {isStatusOpen && <StatusPanel status={status} close={() => setStatusOpen(false)} />}
      </ConnectionContext.Provider>
    </div>
  );
}

function chatInAddress(): string | undefined {
  return /^#\/chats\/([\w-]+)$/.exec(location.hash)?.[1];
}
