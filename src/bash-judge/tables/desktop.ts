import { each, type Program, type Programs } from './program.ts';

const unknown: Program = { asks: 'program/unknown' };

export const desktopPrograms: Programs = {
  // Editors run commands of their own, and so do what multiplexes terminals and opens files.
  ...each('vim vi nvim view ex emacs emacsclient ed nano pico micro joe helix hx kak code codium subl gedit kate mcedit', unknown),
  ...each('tmux screen byobu zellij dtach abduco', unknown),
  ...each(
    'open xdg-open gio sensible-browser x-www-browser w3m lynx links elinks firefox chromium chromium-browser google-chrome',
    unknown,
  ),
  ...each('xclip xsel pbpaste wl-paste', { asks: 'credentials/read' }),
  ...each('pbcopy wl-copy', { options: '-selection:text -n', operands: '', words: true }),
  ...each('xdotool xte ydotool osascript automator wmctrl xinput import scrot grim screencapture', unknown),
};
