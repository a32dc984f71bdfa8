import type { ComponentChildren, JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { clock } from './clock.ts';
import { Icon } from './icons.tsx';
import { Markdown } from './markdown.tsx';
import type { Unsent } from './outbox.ts';
import type { FileInfo, Message } from './wire.ts';

const refuses = /\b(deny|no|reject|refuse|cancel|stop|never)\b/i;

export const MessageView = memo(({ chat, message, isStreaming }: { chat: string; message: Message; isStreaming: boolean }) => {
  const { author, text, files, buttons, at } = message;
  const asks = buttons.some((row) => row.length > 0);
  const content = (
    <>
      {text !== '' && (author === 'us' ? <Markdown text={text} /> : <p class="typed">{text}</p>)}
      <Files chat={chat} files={files} />
      {asks && <Buttons chat={chat} message={message} />}
    </>
  );
  return (
    <article class={`message ${author}${asks ? ' asks' : ''}${isStreaming ? ' streaming' : ''}`} data-id={message.id}>
      <span class="visually-hidden">{author === 'us' ? 'Hermetic' : 'You'}:</span>
      {asks ? <Asking>{content}</Asking> : content}
      <time dateTime={at}>{clock(new Date(at))}</time>
    </article>
  );
});

function Asking({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <section class="asking" aria-label="Needs your answer">
      <div class="asking-head">
        <Icon name="shield" />
        Needs your answer
      </div>
      {children}
    </section>
  );
}

/** What waits to be with the gateway. */
export function UnsentView({ message, remove }: { message: Unsent; remove: () => void }): JSX.Element {
  return (
    <article class={`message person unsent${message.failure === undefined ? '' : ' failed'}`}>
      {message.text !== '' && <p class="typed">{message.text}</p>}
      <Files chat={message.chat} files={message.files} />
      <small>{message.failure ?? 'Sending…'}</small>
      {message.failure !== undefined && (
        <button type="button" class="quiet" onClick={remove}>
          Remove
        </button>
      )}
    </article>
  );
}

function Buttons({ chat, message }: { chat: string; message: Message }): JSX.Element {
  const [pressed, setPressed] = useState<string>();
  const [failure, setFailure] = useState('');
  useEffect(() => setPressed(undefined), [message.seq]);
  const press = async (data: string): Promise<void> => {
    setPressed(data);
    setFailure('');
    try {
      await api.press(chat, message.id, data);
    } catch (error) {
      setFailure(error instanceof ApiError ? error.message : String(error));
      setPressed(undefined);
    }
  };
  return (
    <div class="buttons">
      {message.buttons.map((row, index) => (
        <div class="row" key={index}>
          {row.map(({ label, data }, column) => (
            <button
              type="button"
              key={data}
              class={refuses.test(label) ? 'refuse' : index === 0 && column === 0 ? 'primary' : ''}
              disabled={pressed !== undefined}
              aria-busy={pressed === data}
              onClick={() => void press(data)}
            >
              {label}
            </button>
          ))}
        </div>
      ))}
      {failure !== '' && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}

function Files({ chat, files }: { chat: string; files: readonly FileInfo[] }): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <div class="files">
      {files.map((file) => (
        <a key={file.id} class="file" href={api.fileUrl(chat, file.id)} download={file.name}>
          {file.mimeType.startsWith('image/') ? <img src={api.fileUrl(chat, file.id)} alt="" loading="lazy" /> : <Icon name="file" />}
          <span class="file-name">{file.name}</span>
          <span class="file-size">{sizeOf(file.bytes)}</span>
          <Icon name="download" />
        </a>
      ))}
    </div>
  );
}

export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
