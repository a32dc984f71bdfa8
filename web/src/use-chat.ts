import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, api } from './api.ts';
import type { Connection } from './stream.ts';
import type { Tabs } from './tabs.ts';
import { emptyTimeline, type Timeline, withEvent, withMessage, withPage } from './timeline.ts';

export interface ChatState {
  timeline: Timeline;
  isTyping: boolean;
  /** The gateway's reply to a pressed button. */
  notice: string;
  maxFileBytes: number;
  isMissing: boolean;
  /** As it was when the chat was opened. */
  title: string;
  loadEarlier: () => Promise<void>;
}

const typingLastsMs = 8000;
/** A page that could not be loaded is asked for again at this pace, and when the gateway is back. */
const loadEveryMs = 5000;
const usualFileBytes = 20 * 1024 * 1024;

/** One chat, followed for as long as it is shown. */
export function useChat(chat: string | undefined, tabs: Tabs, connection: Connection, signedOut: () => void): ChatState {
  const [timeline, setTimeline] = useState<Timeline>(emptyTimeline);
  const [isTyping, setTyping] = useState(false);
  const [notice, setNotice] = useState('');
  const [maxFileBytes, setMostFileBytes] = useState(usualFileBytes);
  const [isMissing, setMissing] = useState(false);
  const [title, setTitle] = useState('');
  const current = useRef(timeline);
  const failed = useRef<() => void>(undefined);
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
    setTitle('');
    if (chat === undefined) return undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let unfollow: (() => void) | undefined;
    const begin = async (): Promise<void> => {
      clearTimeout(timer);
      failed.current = undefined;
      try {
        const page = await api.page(chat);
        if (isOver) return;
        setMostFileBytes(page.limits.fileBytes);
        setTitle(page.title);
        change((timeline) => withPage(timeline, page));
        unfollow = tabs.follow(
          chat,
          () => current.current.seq,
          (event) => {
            if (event.kind === 'message') {
              if (event.message.author === 'us') typing(false);
              change((timeline) => withMessage(timeline, event.message));
            } else if (event.kind === 'typing') typing(true);
            else if (event.kind === 'noticed') setNotice(event.text ?? '');
            else change((timeline) => withEvent(timeline, event));
          },
        );
      } catch (error) {
        if (isOver) return;
        if (error instanceof ApiError && error.status === 401) return signedOut();
        if (error instanceof ApiError && error.status === 404) return setMissing(true);
        failed.current = () => void begin();
        timer = setTimeout(failed.current, loadEveryMs);
      }
    };
    void begin();
    return () => {
      isOver = true;
      clearTimeout(timer);
      unfollow?.();
    };
  }, [chat, change, typing, tabs, signedOut]);
  useEffect(() => {
    if (connection === 'open') failed.current?.();
  }, [connection]);

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

  return { timeline, isTyping, notice, maxFileBytes, isMissing, title, loadEarlier };
}
