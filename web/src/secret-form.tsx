import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure } from './failure.tsx';
import type { Secret } from './wire.ts';

interface SecretFormProps {
  /** undefined: a new one. */
  secret: Secret | undefined;
  /** Why the last try was refused. */
  failure: string;
  /** Resolves with whether it was saved. A value that is left out stays as it is. */
  save: (name: string, entry: { hosts: readonly string[]; value?: string }) => Promise<boolean>;
  cancel: () => void;
}

export function SecretForm({ secret, failure, save, cancel }: SecretFormProps): JSX.Element {
  const [name, setName] = useState(secret?.name ?? '');
  const [hosts, setHosts] = useState(secret?.hosts.join('\n') ?? '');
  const [isSending, setSending] = useState(false);
  const [wasTyped, setTyped] = useState(false);
  const first = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  // Security: the only place on the page that has the value, and it is empty again before anything is sent.
  const value = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);

  const submit = async (): Promise<void> => {
    const field = value.current;
    const typed = field?.value ?? '';
    if (field) field.value = '';
    setSending(true);
    setTyped(typed !== '');
    const listed = hosts.split(/[\s,]+/).filter((host) => host !== '');
    const isSaved = await save(name.trim(), { hosts: listed, ...(typed !== '' && { value: typed }) });
    if (!isSaved) setSending(false);
  };
  return (
    <form
      class="secret-form"
      aria-label={secret ? `Edit ${secret.name}` : 'Add a secret'}
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {secret ? (
        <h3>{secret.name}</h3>
      ) : (
        <label>
          Name
          <input
            ref={first}
            type="text"
            required
            placeholder="GITHUB_TOKEN"
            {...unassisted}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
      )}
      <label>
        Hosts
        <textarea
          ref={secret ? first : null}
          required
          rows={2}
          placeholder="github.com, api.github.com"
          aria-describedby="secret-hosts-hint"
          {...unassisted}
          value={hosts}
          onInput={({ currentTarget }) => setHosts(currentTarget.value)}
        />
      </label>
      <p class="secret-hint" id="secret-hosts-hint">
        Exact hosts, one per line or with commas. Without a port, 443.
      </p>
      <label>
        Value
        {/* Browsers fill saved passwords into fields with "off", and not into those for a new one. */}
        <input
          ref={value}
          type="password"
          required={!secret}
          aria-describedby="secret-value-hint"
          {...unassisted}
          autocomplete="new-password"
        />
      </label>
      <p class="secret-hint" id="secret-value-hint">
        {failure !== '' && wasTyped && 'The value was not saved. Enter it again. '}
        {secret ? 'Leave it empty to keep the stored value.' : 'It is stored in .env of the gateway’s home, and shown nowhere.'}
      </p>
      {failure !== '' && <Failure text={failure} />}
      <div class="panel-buttons">
        <button type="submit" class="primary" disabled={isSending} aria-busy={isSending}>
          {isSending ? 'Saving…' : 'Save'}
        </button>
        <button type="button" class="quiet" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** What is typed here is for no dictionary and no list of earlier entries. */
const unassisted = {
  autocomplete: 'off',
  autocapitalize: 'off',
  spellcheck: false,
  'data-1p-ignore': true,
  'data-lpignore': 'true',
} as const;
