import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';

export function SignIn({ reason, done }: { reason: string; done: () => void }): JSX.Element {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState(reason);
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
        <button type="submit" class="primary" disabled={token.trim() === ''}>
          Sign in
        </button>
      </form>
    </main>
  );
}
