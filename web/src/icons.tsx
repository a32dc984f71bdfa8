import type { JSX } from 'preact';

const paths = {
  menu: 'M4 7h16M4 12h16M4 17h16',
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7.5 7.5h9v9h-9z',
  attach: 'M20 11.5 12.3 19a5 5 0 0 1-7-7l8-8a3.3 3.3 0 0 1 4.7 4.7l-8 8a1.7 1.7 0 0 1-2.4-2.4l7.3-7.3',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'M5 12.5 10 17.5 19 7',
  dot: 'M12 11.5v1',
  cross: 'M6 6l12 12M18 6 6 18',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  chevron: 'M9 6l6 6-6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  terminal: 'M5 7l5 5-5 5M12 17h7',
  key: 'M13 15.5a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM11.7 12.3 20 4M16 8l3 3',
  shield: 'M12 3l7 3v6c0 4.5-3 7.5-7 9-4-1.5-7-4.5-7-9V6z',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
