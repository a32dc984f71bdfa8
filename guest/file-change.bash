# Prints a small file, waits for its new content, and writes it. Arguments: path, bytes of a small file, max bytes to print,
# `may-be-missing` or nothing, part of a name for a temporary file, length of a guess or nothing.
# A guess is new content that is there to read at once. It is taken if there is no file, or a small one that starts with no byte order
# mark and has no carriage returns: then nothing has to be waited for.
# Answers: `new`, or `text LENGTH`, then everything, both with `taken` at the end where the guess is; `more` for any other file; and
# `missing`, `directory` and `special` as in file-plain.bash.
# Where nothing was taken it reads a line, `place LENGTH`, and the content; or `script LENGTH`, and file-replace.bash, which does the rest.
# Exit codes: 0 written, or there is nothing to write to; 95 another process changed the file meanwhile, 96 the content did not arrive whole, 97 the old content is lost.

anchor "$1"
small=$2 taken=$6 kind=other
[[ $path != */ ]] || { printf 'directory\n' && exit; }
[[ $4 == may-be-missing ]] || require_there
require_no_special
require_no_directory
[[ ! $6 ]] || IFS= read -rN "$6" new || exit 96

require_unchanged() {
  local now=
  if [[ $kind == small ]]; then
    IFS= read -rd '' -n "$small" now <"$path"
    [ "$now" = "$old" ] || exit 95
  elif [[ $kind == new ]]; then
    [[ ! -e $path ]] || exit 95
  elif [[ $kind == other ]]; then
    [[ $(state) == "$before" ]] || exit 95
  fi
}

make_directory() {
  [[ -d $1 ]] || mkdir -p -- "$1" || exit 1
}

# A small file is written where it is: it stays the same file to everything that knows it, and starting a program to rename another takes
# longer than all the rest. The old content is at hand if the new one does not fit.
place() {
  if [[ $kind == new ]]; then
    make_directory "${path%/*}/"
    printf %s "$new" >|"$path" || { rm -f -- "$path" && exit 1; }
    return
  fi
  # Not emptied before, where that is possible: a reader meanwhile finds something.
  if ((${#new} < ${#old})); then printf %s "$new" >|"$path"; else printf %s "$new" 1<>"$path"; fi && return
  (require_unchanged) || printf %s "$old" >|"$path" || exit 97
  exit 1
}

if [[ ! -e $path ]]; then
  kind=new old=
elif [[ -r $path ]] && ! IFS= read -rd '' -n "$small" old <"$path"; then
  kind=small
  [[ $old != $'\xEF\xBB\xBF'* && $old != *$'\r'* ]] || taken=
else
  taken=
fi
# From here on it is ended by the end of its input, so that nothing stays half done.
builtin trap '' TERM INT HUP
[[ ! $taken ]] || place
# Everything at once: each piece wakes the host.
case $kind in
  new) printf 'new%s\n' "${taken:+ taken}" ;;
  small) printf 'text %d%s\n%s' "${#old}" "${taken:+ taken}" "$old" ;;
  *) printf 'more\n' ;;
esac
if [[ ! $taken ]]; then
  read -r verb length || exit 96
  IFS= read -rN "$length" new || exit 96
  case $verb in
    place)
      require_unchanged
      place
      ;;
    script) builtin eval "$new" ;;
    *) exit 96 ;;
  esac
fi
