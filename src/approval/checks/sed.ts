import { reportUnseen } from '../programs/builtins.ts';
import { readOptions } from '../shell/options.ts';
import type { Invocation } from './invocation.ts';
import { touchRead, touchWrite } from './touch.ts';

const address = String.raw`(?:\d+|\$|\/(?:\\.|[^/\\])*\/I?)`;
const runs = new RegExp(String.raw`^\s*(?:${address}(?:\s*,\s*[+~]?${address})?)?\s*!?\s*e(?:\s+(.*))?$`);
const files = new RegExp(String.raw`^\s*(?:${address}(?:\s*,\s*[+~]?${address})?)?\s*!?\s*([rRwW])\s*(\S.*)$`);

/** sed can run programs, and read and write files of its own. */
export function sedRules({ program, args, state }: Invocation): void {
  const options = readOptions(args, { short: 'efl', long: ['expression', 'file', 'line-length'] });
  const given = options.valuesOf('e', 'expression');
  for (const script of given.length > 0 ? given : options.rest.slice(0, 1)) {
    for (const line of script.split(/[;\n{}]/)) {
      const run = runs.exec(line);
      if (run) {
        state.judgement.report('code/inline', program);
        if (run[1]) {
          reportUnseen(run[1], program, state);
          state.judgement.runSource(run[1], state.fork(), ['']);
        }
      }
      const [, verb = '', path = ''] = files.exec(line) ?? [];
      if (/w/i.test(verb)) touchWrite(path, program, state);
      else if (verb !== '') touchRead(path, program, state, true);
    }
    for (const [, , , , flags, target] of script.matchAll(
      /(^|[;{}\s\d$/])s([^\w\s])((?:\\.|(?!\2)[^\\\n])*\2(?:\\.|(?!\2)[^\\\n])*)\2([a-vx-zA-Z0-9]*)(?:w\s*(\S+))?/g,
    )) {
      if (/e/.test(flags ?? '')) state.judgement.report('code/inline', program);
      if (target) touchWrite(target, program, state);
    }
  }
}
