import type { Action, Circumstances } from '../../src/core/approval.ts';

export const circumstances: Circumstances = {
  disposable: false,
  hostPaths: [],
  source: 'chat',
  role: 'user',
  home: '/home/ada',
  ownPaths: ['/home/ada/.hermetic'],
  definitions: {},
};

export const session = { parts: ['chat', '1'], title: 'chat 1' };
export const command = (text: string, cwd = '/work'): Action => ({ kind: 'command', command: text, cwd });
export const script = (code: string): Action => ({ kind: 'script', language: 'python', code, cwd: '/work' });
