import { randomUUID } from 'node:crypto';
import type { Person } from '../../core/channel.ts';
import type { WebChat, WebChats, WebLog } from '../../core/web-log.ts';
import type { WebChannel } from './index.ts';

/** The chats as one person has them. */
export function chatsOf(channel: WebChannel, log: WebLog, person: Person): WebChats {
  // Security: knowing the id of another person's chat gives no access to it.
  const own = async (id: string): Promise<WebChat | undefined> => {
    const chat = await log.chat(id);
    return chat?.person === person.id ? chat : undefined;
  };
  return {
    list: (query) => log.chats(person.id, query),
    create: async () => {
      const at = new Date();
      const chat = { id: randomUUID(), person: person.id, title: '', startedAt: at, lastActiveAt: at };
      await log.createChat(chat);
      return chat;
    },
    page: async (id, before, limit) => {
      const chat = await own(id);
      return chat && { title: chat.title, ...(await log.page(id, before, limit)) };
    },
    follow: async (id, seq, signal) => ((await own(id)) ? channel.follow(id, seq, signal) : undefined),
    receive: async (id, message) => {
      const chat = await own(id);
      if (!chat) return false;
      await channel.receive(chat, { chat: id, person, ...message });
      return true;
    },
    press: async (id, press) => {
      const chat = await own(id);
      return chat ? await channel.press(chat, person, press) : false;
    },
    upload: async (id, file) => ((await own(id)) ? await channel.keepFile(id, file) : undefined),
    download: async (id, fileId) => {
      const file = (await own(id)) && (await log.file(fileId));
      if (!file || file.chat !== id) return undefined;
      const data = await log.fileData(fileId);
      const { name, mimeType, bytes } = file;
      return data && { id: fileId, name, mimeType, bytes, data };
    },
  };
}
