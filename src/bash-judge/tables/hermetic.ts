import type { Program, Programs } from './program.ts';

const controls: Program = { asks: 'hermetic/control' };
const starts: Program = { asks: 'hermetic/start' };
const shows = (options = ''): Program => ({ options: `--json --help -h ${options}`, operands: 'text*' });

/** Hermetic itself: an agent may look, and may not change or answer what governs it. */
export const hermeticPrograms: Programs = {
  hermetic: {
    options: '--version -V --help -h',
    subcommands: {
      'status|doctor|version|help': shows('--prove!hermetic/start'),
      approvals: {
        options: '--help -h',
        subcommands: {
          judge: shows('--backend:text --stdin'),
          'list|show|grants': { asks: 'hermetic/read' },
          'approve|deny|revoke|grant': controls,
        },
      },
      audit: { asks: 'hermetic/read' },
      config: {
        subcommands: { 'get|show|list|explain|path|validate|check': { asks: 'hermetic/read' }, 'set|unset|edit|import': controls },
      },
      network: { options: '--help -h', subcommands: { 'list|test|log': { asks: 'hermetic/read' }, 'allow|deny|forget': controls } },
      'pairing|secret|setup': controls,
      sandbox: { subcommands: { 'list|ls|show': { asks: 'hermetic/read' }, 'prune|destroy|rm|remove|stop|reset|sweep': controls } },
      'start|run|chat|mcp|shell|code': starts,
    },
  },
  'hermetic-agent': starts,
};
