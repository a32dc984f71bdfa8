import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { MessageView, UnsentView } from './message-view.tsx';
import type { Unsent } from './outbox.ts';
import { itemsOf } from './timeline.ts';
import { ToolCard } from './tool-card.tsx';
import type { ChatState } from './use-chat.ts';

interface ChatViewProps {
  chat: string | undefined;
  state: ChatState;
  unsent: readonly Unsent[];
  remove: (id: string) => void;
  say: (text: string) => void;
  /** One sentence about where commands run; empty until it is known. */
  where: string;
}

const nearBottom = 80;
const ideas = [
  ['/help', 'What can I do here?'],
  ['/run uname -a && ls', 'Run a command'],
  ['/python print(sum(range(10)))', 'Run some Python'],
] as const;

export function ChatView({ chat, state, unsent, remove, say, where }: ChatViewProps): JSX.Element {
  const { timeline, isTyping } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const items = useMemo(() => itemsOf(timeline), [timeline]);
  const waiting = unsent.filter((message) => message.chat === chat && !timeline.messages.has(message.id));
  const last = items.findLast((item) => item.kind === 'message');
  const isRunning = timeline.turn !== undefined;
  const isEmpty = items.length === 0 && waiting.length === 0 && (chat === undefined || timeline.isLoaded);

  const toEnd = (): void => {
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  };
  // A question that is higher than the screen is shown from its beginning, and not followed to its end.
  const begun = useRef(new Set<string>());
  const follow = (): void => {
    const element = scroller.current;
    if (!element) return;
    const questions = [...element.querySelectorAll<HTMLElement>('.message.asks')].filter((one) => one.offsetHeight > element.clientHeight);
    const unread = questions.find(({ dataset }) => !begun.current.has(dataset.id ?? ''));
    if (questions.length === 0) toEnd();
    if (!unread) return;
    begun.current.add(unread.dataset.id ?? '');
    element.scrollTop += unread.getBoundingClientRect().top - element.getBoundingClientRect().top - 8;
  };
  useLayoutEffect(() => {
    if (isAtEnd) follow();
  }, [items, waiting.length, isTyping]);
  useEffect(() => setAtEnd(true), [chat]);
  // What is shown may grow without anything new: a card that is opened, a picture that arrives, a keyboard that comes up.
  useEffect(() => {
    const element = scroller.current;
    if (!element || !isAtEnd) return undefined;
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  });

  const earlier = async (): Promise<void> => {
    const element = scroller.current;
    const fromEnd = element ? element.scrollHeight - element.scrollTop : 0;
    await state.loadEarlier();
    requestAnimationFrame(() => {
      if (element) element.scrollTop = element.scrollHeight - fromEnd;
    });
  };

  if (state.isMissing) return <div class="scroller empty">This session does not exist any more.</div>;
  return (
    <div class="view">
      <div
        class="scroller"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it, and show the times of its messages
        tabIndex={0}
        ref={scroller}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setAtEnd(scrollHeight - scrollTop - clientHeight < nearBottom)
        }
      >
        {isEmpty && <Welcome say={say} where={where} />}
        <div class="messages" role="log" aria-label="Conversation" aria-live="polite" aria-busy={isRunning}>
          {timeline.from > 0 && (
            <button type="button" class="quiet earlier" onClick={() => void earlier()}>
              Show earlier messages
            </button>
          )}
          {items.map((item) =>
            item.kind === 'call' ? (
              <ToolCard key={item.key} call={item.call} />
            ) : (
              <MessageView
                key={item.key}
                chat={chat ?? ''}
                message={item.message}
                isStreaming={isRunning && item === last && item.message.author === 'us' && item.message.buttons.length === 0}
              />
            ),
          )}
          {waiting.map((message) => (
            <UnsentView key={message.id} message={message} remove={() => remove(message.id)} />
          ))}
          {(isTyping || (isRunning && last?.message.author === 'person')) && (
            <div class="typing">
              <span class="visually-hidden">Hermetic is working</span>
              <i />
              <i />
              <i />
            </div>
          )}
        </div>
      </div>
      {!isAtEnd && (
        <button
          type="button"
          class="round to-end"
          aria-label="To the latest message"
          onClick={() => {
            setAtEnd(true);
            toEnd();
          }}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function Welcome({ say, where }: Pick<ChatViewProps, 'say' | 'where'>): JSX.Element {
  return (
    <div class="welcome">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h2>What shall we do?</h2>
      <p>{where}</p>
      <ul>
        {ideas.map(([text, about]) => (
          <li key={text}>
            <button type="button" onClick={() => say(text)}>
              <span>{about}</span>
              <code>{text}</code>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
