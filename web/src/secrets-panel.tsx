import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { Failure } from './failure.tsx';
import { Icon } from './icons.tsx';
import { Panel } from './panel.tsx';
import { SecretForm } from './secret-form.tsx';
import type { Secret, Secrets, SecretsAnswer } from './wire.ts';

/** What the owner is doing; undefined: looking at the list. */
type Doing = { kind: 'adding' } | { kind: 'editing' | 'removing'; name: string } | undefined;

/** The tokens that sandboxes use without having them. Security: values go one way, from the form to the gateway. */
export function SecretsPanel({ close }: { close: () => void }): JSX.Element {
  const [view, setView] = useState<Secrets>();
  const [doing, setDoing] = useState<Doing>();
  const [done, setDone] = useState('');
  const [failure, setFailure] = useState('');

  useEffect(() => {
    api.secrets().then(setView, (error: unknown) => setFailure(wordsOf(error)));
  }, []);
  // The focus of a form that is gone goes here.
  const add = useRef<HTMLButtonElement>(null);
  const wasDoing = useRef(false);
  useEffect(() => {
    if (wasDoing.current && doing === undefined) add.current?.focus();
    wasDoing.current = doing !== undefined;
  }, [doing]);
  const begin = (next: Doing): void => {
    setDoing(next);
    setDone('');
    setFailure('');
  };
  /** False when it was refused. */
  const change = async (request: Promise<SecretsAnswer>): Promise<boolean> => {
    setFailure('');
    try {
      const answer = await request;
      setView(answer);
      setDoing(undefined);
      setDone(answer.done);
      return true;
    } catch (error) {
      setFailure(wordsOf(error));
      return false;
    }
  };
  const isBusyWith = (kind: 'editing' | 'removing', name: string): boolean => doing?.kind === kind && doing.name === name;
  const isTold = view?.obstacle != null && done.includes(view.obstacle);
  const form = (secret: Secret | undefined): JSX.Element => (
    <SecretForm
      secret={secret}
      failure={failure}
      save={(name, entry) => change(api.setSecret(name, entry))}
      cancel={() => begin(undefined)}
    />
  );

  return (
    <Panel title="Secrets" close={close}>
      <p class="panel-about">
        A sandbox gets a placeholder in place of a token, and the gateway puts the token into requests to the hosts that you name. So no
        token has to be pasted into a chat.
      </p>
      {view?.obstacle && !isTold && <p class="secrets-obstacle">{view.obstacle}</p>}
      <p class={isTold ? 'secrets-obstacle' : 'panel-done'} role="status">
        {done}
      </p>
      {failure !== '' && doing === undefined && <Failure text={failure} />}
      {!view && failure === '' && <p>Loading…</p>}
      {view && view.secrets.length > 0 && (
        <ul class="panel-list">
          {view.secrets.map((secret) => (
            <li key={secret.name}>
              {isBusyWith('editing', secret.name) ? (
                form(secret)
              ) : (
                <>
                  <SecretFacts secret={secret} />
                  {isBusyWith('removing', secret.name) ? (
                    <Removal
                      name={secret.name}
                      failure={failure}
                      remove={() => change(api.removeSecret(secret.name))}
                      cancel={() => begin(undefined)}
                    />
                  ) : (
                    <div class="panel-buttons">
                      <button
                        type="button"
                        class="quiet"
                        aria-label={`Edit ${secret.name}`}
                        onClick={() => begin({ kind: 'editing', name: secret.name })}
                      >
                        Edit
                      </button>
                      <button
                        type="button"
                        class="quiet"
                        aria-label={`Remove ${secret.name}`}
                        onClick={() => begin({ kind: 'removing', name: secret.name })}
                      >
                        Remove
                      </button>
                    </div>
                  )}
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {view?.secrets.length === 0 && doing === undefined && <p class="secrets-none">No secret is bound to hosts yet.</p>}
      {view &&
        (doing?.kind === 'adding' ? (
          form(undefined)
        ) : (
          <button type="button" class="secrets-add" ref={add} onClick={() => begin({ kind: 'adding' })}>
            <Icon name="plus" />
            Add a secret
          </button>
        ))}
    </Panel>
  );
}

const sources = { environment: 'Value from the environment', '.env': 'Value stored' } as const;

function SecretFacts({ secret: { name, hosts, variable, value, problem } }: { secret: Secret }): JSX.Element {
  return (
    <div class="panel-facts">
      <h3>{name}</h3>
      <p>{hosts.join(', ')}</p>
      {variable !== name && <p>In sandboxes: {variable}</p>}
      <p class={`secret-state ${problem !== null ? (value === null ? 'warning' : 'bad') : 'good'}`}>
        {problem ?? (value === null ? 'No value' : sources[value])}
      </p>
    </div>
  );
}

interface RemovalProps {
  name: string;
  failure: string;
  remove: () => Promise<boolean>;
  cancel: () => void;
}

function Removal({ name, failure, remove, cancel }: RemovalProps): JSX.Element {
  const [isSending, setSending] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  const confirm = async (): Promise<void> => {
    setSending(true);
    if (!(await remove())) setSending(false);
  };
  return (
    <fieldset class="secret-removal">
      <legend>Remove {name}, with its value?</legend>
      {failure !== '' && <Failure text={failure} />}
      <div class="panel-buttons">
        <button type="button" class="refuse" disabled={isSending} onClick={() => void confirm()}>
          Remove
        </button>
        <button type="button" class="quiet" ref={keep} onClick={cancel}>
          Keep
        </button>
      </div>
    </fieldset>
  );
}

function wordsOf(error: unknown): string {
  return error instanceof ApiError ? error.message : String(error);
}
