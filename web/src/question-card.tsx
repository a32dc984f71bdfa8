import type { JSX, Ref } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { Icon } from './icons.tsx';
import { Markdown } from './markdown.tsx';
import type { FileInfo, Message } from './wire.ts';

interface QuestionCardProps {
  chat: string;
  message: Message;
}

/** A question with all of what it is about. Security: a yes can be given once its beginning and its end have been on screen. */
export function QuestionCard({ chat, message }: QuestionCardProps): JSX.Element {
  const [read, setRead] = useState(0);
  const beginning = useWasSeen();
  const end = useWasSeen();
  const { text, files } = message;
  return (
    <fieldset class="asking" aria-label="Needs your answer">
      <div class="asking-head" ref={beginning.element}>
        <Icon name="shield" />
        Needs your answer
      </div>
      {text !== '' && <Markdown text={text} />}
      {files.map((file) => (
        <FileText key={file.id} chat={chat} file={file} onRead={() => setRead((count) => count + 1)} />
      ))}
      {read === files.length && <div class="asking-end" ref={end.element} />}
      <Buttons chat={chat} message={message} mayAgree={beginning.wasSeen && end.wasSeen} />
    </fieldset>
  );
}

/** Whether an element has ever been on screen. */
function useWasSeen(): { element: Ref<HTMLDivElement>; wasSeen: boolean } {
  const [wasSeen, setSeen] = useState(false);
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  useEffect(() => {
    if (!element || wasSeen) return undefined;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element, wasSeen]);
  return { element: setElement, wasSeen };
}

/** What was too long for a message, in full. */
function FileText({ chat, file, onRead }: { chat: string; file: FileInfo; onRead: () => void }): JSX.Element {
  const [text, setText] = useState<string>();
  const [failure, setFailure] = useState('');
  const isOver = useRef(false);
  useEffect(() => {
    const read = async (): Promise<void> => {
      try {
        const content = await api.fileText(chat, file.id);
        if (isOver.current) return;
        setText(content);
        onRead();
      } catch (error) {
        if (!isOver.current) setFailure(error instanceof ApiError ? error.message : String(error));
      }
    };
    void read();
    return () => {
      isOver.current = true;
    };
  }, []);
  return (
    <figure class="code plain">
      <figcaption>
        <span>{file.name}</span>
      </figcaption>
      {failure === '' ? <pre>{text ?? 'Loading…'}</pre> : <p class="failure">{failure} Reload the page to read it.</p>}
    </figure>
  );
}

function Buttons({ chat, message, mayAgree }: QuestionCardProps & { mayAgree: boolean }): JSX.Element {
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
      {!mayAgree && <p class="asking-hint">Read the question from its beginning to its end to agree.</p>}
      {message.buttons.map((row, index) => (
        <div class="row" key={index}>
          {row.map(({ label, data, kind }, column) => {
            // Security: the gateway says which answer is a No; a label without that counts as a yes.
            const isNo = kind === 'no';
            return (
              <button
                type="button"
                key={data}
                class={isNo ? 'refuse' : index === 0 && column === 0 ? 'primary' : ''}
                disabled={pressed !== undefined || !(mayAgree || isNo)}
                aria-busy={pressed === data}
                onClick={() => void press(data)}
              >
                {label}
              </button>
            );
          })}
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
