import type { Action } from '../../src/core/approval.ts';

export { local as judgeContext } from '../bash-judge/corpus.ts';

export const session = { parts: ['chat', '1'], title: 'chat 1' };
export const command = (text: string, cwd = '/work'): Action => ({ kind: 'command', command: text, cwd });
export const script = (code: string): Action => ({ kind: 'script', language: 'python', code, cwd: '/work' });
