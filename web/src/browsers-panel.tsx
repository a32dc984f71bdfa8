import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { Failure } from './failure.tsx';
import { Panel } from './panel.tsx';
import type { SignIn } from './wire.ts';

/** The browsers that are signed in, each of which can be signed out. `signedOut`: this one was. */
export function BrowsersPanel({ close, signedOut }: { close: () => void; signedOut: () => void }): JSX.Element {
  const [signIns, setSignIns] = useState<readonly SignIn[]>();
  const [ending, setEnding] = useState('');
  const [done, setDone] = useState('');
  const [failure, setFailure] = useState('');
  // The focus of a button that is gone goes here.
  const list = useRef<HTMLUListElement>(null);

  const load = (): Promise<void> => api.signIns().then(setSignIns);
  const failed = (error: unknown): void => setFailure(error instanceof ApiError ? error.message : String(error));
  useEffect(() => {
    load().catch(failed);
  }, []);

  const end = async ({ id, browser, isThis }: SignIn): Promise<void> => {
    setEnding(id);
    setFailure('');
    setDone('');
    try {
      await api.endSignIn(id);
      if (isThis) return signedOut();
      setDone(`${browser} is signed out.`);
      list.current?.focus();
    } catch (error) {
      failed(error);
    }
    setEnding('');
    await load().catch(failed);
  };

  return (
    <Panel title="Browsers" close={close}>
      <p class="panel-about">
        These browsers are signed in, each for 30 days after it was last used and 90 days at most. One that you do not know: sign it out,
        and look into the audit log for what it did.
      </p>
      <p class="panel-done" role="status">
        {done}
      </p>
      {failure !== '' && <Failure text={failure} />}
      {!signIns && failure === '' && <p>Loading…</p>}
      {signIns && (
        <ul class="panel-list" ref={list} tabIndex={-1} aria-label="Signed-in browsers">
          {signIns.map((signIn) => (
            <li key={signIn.id}>
              <Facts signIn={signIn} />
              <div class="panel-buttons">
                <button
                  type="button"
                  class="quiet"
                  disabled={ending === signIn.id}
                  aria-label={`Sign out ${signIn.browser}, signed in ${when(signIn.at)}`}
                  onClick={() => void end(signIn)}
                >
                  Sign out
                </button>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

const ways = { link: 'by a link', token: 'with the token' } as const;

function Facts({ signIn: { browser, network, by, at, seenAt, isThis } }: { signIn: SignIn }): JSX.Element {
  return (
    <div class="panel-facts">
      <h3 class="plain">{browser}</h3>
      <p>
        Signed in {ways[by]} from {network}, <time dateTime={at}>{when(at)}</time>
      </p>
      {isThis ? (
        <p class="panel-this">This browser</p>
      ) : (
        <p>
          Last seen <time dateTime={seenAt}>{when(seenAt)}</time>
        </p>
      )}
    </div>
  );
}

function when(time: string): string {
  return new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}
