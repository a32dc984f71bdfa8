import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { Icon } from './icons.tsx';
import { sizeOf } from './message-view.tsx';
import type { FileInfo } from './wire.ts';

interface Attachment {
  key: string;
  name: string;
  bytes: number;
  file?: FileInfo;
  failure?: string;
}

interface ComposerProps {
  chat: string | undefined;
  /** Makes the chat when there is none yet. */
  openChat: () => Promise<string>;
  isRunning: boolean;
  maxFileBytes: number;
  send: (text: string, files: readonly FileInfo[]) => Promise<void>;
  stop: () => Promise<void>;
}

export function Composer({ chat, openChat, isRunning, maxFileBytes, send, stop }: ComposerProps): JSX.Element {
  const [text, setText] = useState('');
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const [isStopping, setStopping] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const isUploading = attachments.some(({ file, failure }) => !file && failure === undefined);
  const ready = attachments.flatMap(({ file }) => (file ? [file] : []));
  const canSend = !isUploading && (text.trim() !== '' || ready.length > 0);

  useEffect(() => {
    if (!area.current) return;
    area.current.style.height = 'auto';
    area.current.style.height = `${area.current.scrollHeight}px`;
  }, [text]);
  // What was begun in one chat, above all its files, belongs to that one.
  const previous = useRef(chat);
  // Before anything can be typed into the next one.
  useLayoutEffect(() => {
    if (previous.current !== undefined && previous.current !== chat) {
      setText('');
      setAttachments([]);
    }
    previous.current = chat;
    if (matchMedia('(hover: hover)').matches) area.current?.focus();
  }, [chat]);
  useEffect(() => {
    if (!isRunning) setStopping(false);
  }, [isRunning]);

  const attach = async (files: Iterable<File>): Promise<void> => {
    await Promise.all([...files].map(upload));
  };
  const upload = async (file: File): Promise<void> => {
    const key = crypto.randomUUID();
    const update = (change: Partial<Attachment>): void =>
      setAttachments((all) => all.map((one) => (one.key === key ? { ...one, ...change } : one)));
    setAttachments((all) => [...all, { key, name: file.name || 'file', bytes: file.size }]);
    if (file.size > maxFileBytes) return update({ failure: `larger than ${sizeOf(maxFileBytes)}` });
    try {
      update({ file: await api.upload(await openChat(), file) });
    } catch (error) {
      update({ failure: error instanceof ApiError ? error.message : String(error) });
    }
  };

  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      document.body.classList.toggle('dropping', event.type === 'dragover');
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) document.body.classList.remove('dropping');
    };
    const drop = (event: DragEvent): void => {
      over(event);
      void attach(event.dataTransfer?.files ?? []);
    };
    const listeners = { dragover: over, dragleave: leave, drop };
    for (const [kind, listener] of Object.entries(listeners)) addEventListener(kind, listener as EventListener);
    return () => {
      for (const [kind, listener] of Object.entries(listeners)) removeEventListener(kind, listener as EventListener);
    };
  });

  const submit = async (): Promise<void> => {
    if (!canSend) return;
    const said = text;
    setText('');
    setAttachments([]);
    area.current?.focus();
    try {
      await send(said, ready);
    } catch {
      // The chat could not be made: the typed text is still there to be sent.
      setText(said);
      setAttachments(attachments);
    }
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {attachments.length > 0 && (
        <ul class="attachments" aria-label="Files to send">
          {attachments.map((one) => (
            <li key={one.key} class={one.failure === undefined ? '' : 'failed'}>
              <Icon name="file" />
              <span class="file-name">{one.name}</span>
              <span class="file-size">{one.failure ?? (one.file ? sizeOf(one.bytes) : 'uploading…')}</span>
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${one.name}`}
                onClick={() => setAttachments((all) => all.filter(({ key }) => key !== one.key))}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="composer-row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ currentTarget }) => {
            void attach(currentTarget.files ?? []);
            currentTarget.value = '';
          }}
        />
        <button type="button" class="quiet round" aria-label="Attach files" title="Attach files" onClick={() => picker.current?.click()}>
          <Icon name="attach" />
        </button>
        <textarea
          ref={area}
          rows={1}
          value={text}
          placeholder="Message Hermetic"
          aria-label="Message"
          enterkeyhint="send"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onPaste={(event) => {
            const files = event.clipboardData?.files;
            if (files && files.length > 0) void attach(files);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void submit();
          }}
        />
        {isRunning && (
          <button
            type="button"
            class="round stop"
            aria-label="Stop"
            title="Stop"
            disabled={isStopping}
            onClick={() => {
              setStopping(true);
              stop().catch(() => setStopping(false));
            }}
          >
            <Icon name="stop" />
          </button>
        )}
        {(!isRunning || canSend) && (
          <button type="submit" class="round primary" aria-label="Send" title="Send" disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
