import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { api } from './api.ts';
import { clock } from './clock.ts';
import { Icon } from './icons.tsx';
import { Markdown } from './markdown.tsx';
import type { Unsent } from './outbox.ts';
import { QuestionCard } from './question-card.tsx';
import type { FileInfo, Message } from './wire.ts';

export const MessageView = memo(({ chat, message, isStreaming }: { chat: string; message: Message; isStreaming: boolean }) => {
  const { author, text, files, buttons, at } = message;
  const asks = buttons.some((row) => row.length > 0);
  return (
    <article class={`message ${author}${asks ? ' asks' : ''}${isStreaming ? ' streaming' : ''}`} data-id={message.id}>
      <span class="visually-hidden">{author === 'us' ? 'Hermetic' : 'You'}:</span>
      {asks ? (
        <QuestionCard key={text} chat={chat} message={message} />
      ) : (
        <>
          {text !== '' && (author === 'us' ? <Markdown text={text} /> : <p class="typed">{text}</p>)}
          <Files chat={chat} files={files} />
        </>
      )}
      <time dateTime={at}>{clock(new Date(at))}</time>
    </article>
  );
});

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
