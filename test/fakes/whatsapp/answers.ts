import { type BinaryNode, getBinaryNodeChild, getBinaryNodeChildren } from 'baileys';
import type { FakePerson } from './person.ts';

export interface Directory {
  /** Everybody, ours among them. */
  people: readonly FakePerson[];
  group: string;
  /** The device that is linked to the account of this person. */
  linked: { person: FakePerson; device: number };
  mediaHost: string;
}

const result = (query: BinaryNode, content: BinaryNode[]): BinaryNode => ({
  tag: 'iq',
  attrs: { id: query.attrs.id ?? '', from: '@s.whatsapp.net', type: 'result' },
  content,
});

const named = (people: readonly FakePerson[], jid: string): FakePerson | undefined => {
  const [user = ''] = jid.split(/[:@]/);
  return people.find(({ phone, lid }) => user === phone || user === lid);
};

/** What WhatsApp answers to the questions of a program. */
export function answerTo(query: BinaryNode, directory: Directory): BinaryNode {
  const { people, group, mediaHost } = directory;
  const { xmlns } = query.attrs;
  if (xmlns === 'usync') return result(query, [usync(query, directory)]);
  if (xmlns === 'encrypt' && query.attrs.type === 'get') {
    if (getBinaryNodeChild(query, 'count')) return result(query, [{ tag: 'count', attrs: { value: '50' } }]);
    if (getBinaryNodeChild(query, 'digest')) return result(query, [{ tag: 'digest', attrs: {} }]);
    const asked = getBinaryNodeChildren(getBinaryNodeChild(query, 'key'), 'user').map(({ attrs }) => attrs.jid ?? '');
    const users = asked.flatMap((jid) => named(people, jid)?.bundleNode(jid) ?? []);
    return result(query, [{ tag: 'list', attrs: {}, content: users }]);
  }
  if (xmlns === 'w:g2') {
    if (query.attrs.to !== group) {
      const error: BinaryNode = { tag: 'error', attrs: { code: '403', text: 'forbidden' } };
      return { ...result(query, [error]), attrs: { ...result(query, []).attrs, type: 'error' } };
    }
    const participants = people.map(({ lidJid, jid }) => ({ tag: 'participant', attrs: { jid: lidJid, phone_number: jid } }));
    const attrs = { id: group.split('@')[0] ?? '', subject: 'General', s_t: '1', creation: '1', addressing_mode: 'lid' };
    return result(query, [{ tag: 'group', attrs, content: participants }]);
  }
  if (xmlns === 'w:m') {
    const host = { tag: 'host', attrs: { hostname: mediaHost } };
    return result(query, [{ tag: 'media_conn', attrs: { auth: 'media-auth', ttl: '300' }, content: [host] }]);
  }
  return result(query, []);
}

function usync(query: BinaryNode, { people, linked }: Directory): BinaryNode {
  const list = getBinaryNodeChild(getBinaryNodeChild(query, 'usync'), 'list');
  const users = getBinaryNodeChildren(list, 'user').flatMap(({ attrs }): BinaryNode[] => {
    const jid = attrs.jid ?? '';
    const person = named(people, jid);
    if (!person) return [];
    const own = person === linked.person ? [{ tag: 'device', attrs: { id: String(linked.device), 'key-index': '1' } }] : [];
    const devices = { tag: 'device-list', attrs: {}, content: [{ tag: 'device', attrs: { id: '0' } }, ...own] };
    const lid = jid.endsWith('@lid') ? [] : [{ tag: 'lid', attrs: { val: person.lidJid } }];
    return [{ tag: 'user', attrs: { jid }, content: [{ tag: 'devices', attrs: {}, content: [devices] }, ...lid] }];
  });
  return { tag: 'usync', attrs: {}, content: [{ tag: 'list', attrs: {}, content: users }] };
}
