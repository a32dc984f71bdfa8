import { type JSX, render } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { App } from './app.tsx';
import { SignIn } from './sign-in.tsx';
import './style.css';
import './layout.css';
import './markdown.css';
import './chat.css';
import './panels.css';

function Root({ reason }: { reason: string | undefined }): JSX.Element {
  const [why, setWhy] = useState(reason);
  const signedOut = useCallback(() => setWhy(''), []);
  return why === undefined ? <App signedOut={signedOut} /> : <SignIn reason={why} done={() => setWhy(undefined)} />;
}

/** Trades the code in the address for a cookie. Resolves with why it is not let in, or undefined. */
async function enter(): Promise<string | undefined> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return undefined;
  // Security: gone from the address and the history before anything else happens.
  history.replaceState(null, '', '/');
  try {
    await api.login({ code });
    return undefined;
  } catch (error) {
    // A browser that was let in before stays signed in when it opens a used link.
    const isIn = await api.chats().then(
      () => true,
      () => false,
    );
    return isIn ? undefined : error instanceof ApiError ? error.message : String(error);
  }
}

const reason = await enter();
const root = document.getElementById('app');
if (root) render(<Root reason={reason} />, root);
