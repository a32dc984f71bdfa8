import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { api } from './api.ts';
import type { Chat, ChatList } from './wire.ts';

export interface Chats {
  /** All that are here, the most recent first; of a search what it found. */
  shown: readonly Chat[];
  hasOlder: boolean;
  /** Of one that was listed or found; empty otherwise. */
  titleOf: (chat: string | undefined) => string;
  search: string;
  setSearch: (words: string) => void;
  loadOlder: () => Promise<void>;
  /** The latest ones anew. Rejects when they cannot be had. */
  refresh: () => Promise<void>;
}

const empty: ChatList = { chats: [] };
/** After the last letter that was typed. */
const searchAfterMs = 200;

/** The list of chats, page by page, and what a search finds in all of them. */
export function useChats(): Chats {
  const [list, setList] = useState(empty);
  const [found, setFound] = useState<ChatList>();
  const [search, setSearch] = useState('');
  const asked = useRef(0);
  const refresh = useCallback(async () => {
    const latest = await api.chats();
    setList((before) => withLatest(before, latest));
  }, []);
  useEffect(() => {
    asked.current += 1;
    const own = asked.current;
    if (search.trim() === '') {
      setFound(undefined);
      return undefined;
    }
    const find = async (): Promise<void> => {
      const answer = await api.chats({ search });
      if (own === asked.current) setFound(answer);
    };
    const timer = setTimeout(() => void find().catch(() => undefined), searchAfterMs);
    return () => clearTimeout(timer);
  }, [search]);
  const shown = found ?? list;
  const loadOlder = async (): Promise<void> => {
    const own = asked.current;
    const more = await api.chats({ search: found ? search : '', after: shown.next });
    if (own !== asked.current) return;
    const set = found ? setFound : setList;
    set((before = empty) => ({ ...more, chats: withoutTwins([...before.chats, ...more.chats]) }));
  };
  const titleOf = (chat: string | undefined): string => [...list.chats, ...shown.chats].find(({ id }) => id === chat)?.title ?? '';
  return { shown: shown.chats, hasOlder: shown.next !== undefined, titleOf, search, setSearch, loadOlder, refresh };
}

/** The older ones that were loaded stay, below the latest. */
function withLatest(before: ChatList, latest: ChatList): ChatList {
  if (latest.next === undefined || before.chats.length <= latest.chats.length) return latest;
  return { ...before, chats: withoutTwins([...latest.chats, ...before.chats]) };
}

/** Of each the first. */
function withoutTwins(chats: readonly Chat[]): Chat[] {
  const seen = new Set<string>();
  return chats.filter(({ id }) => !seen.has(id) && seen.add(id));
}
