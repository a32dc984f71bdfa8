import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';

const lookEveryMs = 1000;
const answersWithinMs = 2000;

export function SignIn({ reason, done }: { reason: string; done: () => void }): JSX.Element {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState(reason);
  const isThere = useGateway();
  const submit = async (): Promise<void> => {
    try {
      await api.login({ token: token.trim() });
      done();
    } catch (error) {
      setFailure(error instanceof ApiError ? error.message : String(error));
    }
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <img src="/icon.svg" alt="" width="56" height="56" />
        <h1>Hermetic</h1>
        <p>
          Open the link that the gateway printed when it started, or enter its token. The machine it runs on has the token in the file{' '}
          <code>web-token</code> in Hermetic’s home, which usually is <code>~/.hermetic</code>.
        </p>
        <label>
          Token
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        {failure !== '' && (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
        {!isThere && (
          <p class="failure" role="status">
            The gateway does not answer.
          </p>
        )}
        <button type="submit" class="primary" disabled={token.trim() === ''}>
          Sign in
        </button>
      </form>
    </main>
  );
}

/** Whether the gateway answers, by a file that needs no sign-in: a wrong cookie would count as an attempt. */
function useGateway(): boolean {
  const [isThere, setThere] = useState(true);
  useEffect(() => {
    const look = (): void => {
      if (document.hidden) return;
      const signal = AbortSignal.timeout(answersWithinMs);
      fetch('/icon.svg', { cache: 'no-store', signal }).then(
        ({ ok }) => setThere(ok),
        () => setThere(false),
      );
    };
    const timer = setInterval(look, lookEveryMs);
    return () => clearInterval(timer);
  }, []);
  return isThere;
}
