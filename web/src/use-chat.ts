import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import { type Connection, Stream } from './stream.ts';
import { emptyTimeline, type Timeline, withEvent, withMessage, withPage } from './timeline.ts';

export interface ChatState {
  timeline: Timeline;
  connection: Connection;
  isTyping: boolean;
  /** The gateway's reply to a pressed button. */
  notice: string;
  maxFileBytes: number;
  isMissing: boolean;
  loadEarlier: () => Promise<void>;
  retryNow: () => void;
}

const typingLastsMs = 8000;
const usualFileBytes = 20 * 1024 * 1024;

/** One chat, followed for as long as it is shown. */
export function useChat(chat: string | undefined, probe: () => Promise<unknown>, signedOut: () => void): ChatState {
  const [timeline, setTimeline] = useState<Timeline>(emptyTimeline);
  const [connection, setConnection] = useState<Connection>({ kind: 'connecting' });
  const [isTyping, setTyping] = useState(false);
  const [notice, setNotice] = useState('');
  const [maxFileBytes, setMostFileBytes] = useState(usualFileBytes);
  const [isMissing, setMissing] = useState(false);
  const current = useRef(timeline);
  const stream = useRef<Stream | undefined>(undefined);
  const typingTimer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const change = useCallback((next: (timeline: Timeline) => Timeline) => {
    current.current = next(current.current);
    setTimeline(current.current);
  }, []);
  const typing = useCallback((isNow: boolean) => {
    clearTimeout(typingTimer.current);
    setTyping(isNow);
    if (isNow) typingTimer.current = setTimeout(() => setTyping(false), typingLastsMs);
  }, []);

  useEffect(() => {
    change(() => emptyTimeline);
    typing(false);
    setMissing(false);
    setConnection(chat === undefined ? { kind: 'open' } : { kind: 'connecting' });
    if (chat === undefined) return undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = async (attempt: number): Promise<void> => {
      try {
        const page = await api.page(chat);
        if (isOver) return;
        setMostFileBytes(page.limits.fileBytes);
        change((timeline) => withPage(timeline, page));
        stream.current = new Stream(chat, () => current.current.seq, probe, {
          message: (message) => {
            if (message.author === 'us') typing(false);
            change((timeline) => withMessage(timeline, message));
          },
          event: (event) => {
            if (event.kind === 'typing') typing(true);
            else if (event.kind === 'noticed') setNotice(event.text ?? '');
            else change((timeline) => withEvent(timeline, event));
          },
          connection: setConnection,
          signedOut,
        });
      } catch (error) {
        if (isOver) return;
        if (error instanceof ApiError && error.status === 401) return signedOut();
        if (error instanceof ApiError && error.status === 404) return setMissing(true);
        const waitMs = Math.min(15_000, 500 * 2 ** attempt);
        setConnection({ kind: 'waiting', untilMs: Date.now() + waitMs });
        timer = setTimeout(() => void begin(attempt + 1), waitMs);
      }
    };
    void begin(0);
    return () => {
      isOver = true;
      clearTimeout(timer);
      stream.current?.close();
      stream.current = undefined;
    };
  }, [chat, change, typing, probe, signedOut]);

  useEffect(() => {
    if (notice === '') return undefined;
    const timer = setTimeout(() => setNotice(''), 5000);
    return () => clearTimeout(timer);
  }, [notice]);

  const loadEarlier = useCallback(async () => {
    if (chat === undefined || current.current.from === 0) return;
    const page = await api.page(chat, current.current.from);
    change((timeline) => withPage(timeline, page));
  }, [chat, change]);
  const retryNow = useCallback(() => stream.current?.retryNow(), []);

  return { timeline, connection, isTyping, notice, maxFileBytes, isMissing, loadEarlier, retryNow };
}
