export { judge } from './judge.ts';
export { kinds, type Program } from './tables/program.ts';
export { rules } from './tables/rules.ts';
export { approvalRulesReference } from './tables/rules-page.ts';
export { JudgeThread } from './thread.ts';
