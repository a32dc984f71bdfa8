# Prints a file, waits for its new content, and writes it. Arguments: path, bytes of a small file, most bytes to print, `may-be-missing`
# or nothing, part of a name for a temporary file, length of a guess or nothing.
# A guess is new content that follows the script at once. It is taken if there is no file, or a small one that starts with no byte order
# mark and has no carriage returns: then nothing has to be waited for.
# Answers: `new`; `text LENGTH`, then everything; `large SIZE`, then everything; `huge SIZE` or `binary SIZE`, then the beginning; and
# `missing`, `directory` and `special` as in file-plain.bash. `new` and `text LENGTH` end with `taken` where the guess is.
# Otherwise it reads a line, `place LENGTH` or `replace LENGTH`, and the content. Anything else leaves the file as it is.
# Exit codes: 95 somebody else changed the file meanwhile, 96 the content did not arrive whole, 97 the old content is lost.

anchor "$1"
small=$2 taken=
[[ $path != */ ]] || { printf 'directory\n' && exit; }
[[ $4 == may-be-missing ]] || require_there
require_no_special
require_no_directory

state() { stat -Lc '%i %s %.Y' -- "$path"; }

show() {
  local size
  if [[ ! -e $path ]]; then
    kind=new taken=$2
    printf 'new%s\n' "${2:+ taken}"
  elif ! { exec 3<"$path"; } 2>/dev/null; then
    # May be written and not read.
    kind=unread
    printf 'binary 0\n'
  elif ! IFS= read -rd '' -n "$small" old <&3; then
    kind=small
    [[ $old == $'\xEF\xBB\xBF'* || $old == *$'\r'* ]] || taken=$2
    printf 'text %d%s\n%s' "${#old}" "${taken:+ taken}" "$old"
  else
    kind=other
    before=$(state) || exit 1
    size=${before#* }
    size=${size%% *}
    if ((${#old} < small)); then
      printf 'binary %s\n' "$size"
      head -c 4096 <"$path"
    elif ((size > $1)); then
      printf 'huge %s\n%s' "$size" "$old"
    else
      printf 'large %s\n' "$size"
      head -c "$size" <"$path"
      # Or the host would wait for the rest of it.
      require_unchanged
    fi
  fi
}

require_unchanged() {
  local now=
  case $kind in
    new) [[ ! -e $path ]] || exit 95 ;;
    small)
      IFS= read -rd '' -n "$small" now <"$path"
      [[ $now == "$old" ]] || exit 95
      ;;
    other) [[ $(state) == "$before" ]] || exit 95 ;;
  esac
}

make_directory() {
  [[ -d $1 ]] || mkdir -p -- "$1" || exit 1
}

# A small file is written where it is: it stays the same file to everything that knows it, and starting a program to rename another takes
# longer than all the rest. The old content is at hand if the new one does not fit.
place() {
  require_unchanged
  make_directory "${path%/*}/"
  exec 4>|"$path" || exit 1
  if printf %s "$new" >&4 && exec 4>&-; then return; fi
  if [[ $kind == new ]]; then
    rm -f -- "$path"
    exit 1
  fi
  printf %s "$old" >|"$path" || exit 97
  exit 1
}

# Anything else is written beside the file and takes its place at once, where that is possible.
replace() {
  local real=$path temporary directory kept=
  if [[ -L $path ]]; then
    real=$(readlink -f -- "$path" && printf x) || { printf 'its link leads nowhere\n' >&2 && exit 1; }
    real=${real%?x}
  fi
  directory=${real%/*}/
  make_directory "$directory"
  temporary=$directory.hermetic-$2
  if [[ ! -w $directory ]]; then
    temporary=/tmp/.hermetic-$2 kept=1
  elif [[ -e $real && ! -O $real && $EUID != 0 ]]; then
    kept=1
  fi
  if [[ $kept && ! -w $real ]]; then printf 'permission denied\n' >&2 && exit 1; fi
  # Security: nobody else reads it before it has the mode of the file.
  [[ ! -e $real && ! $kept ]] || umask 077
  cat >|"$temporary" || fail "$temporary" 1
  [[ $(stat -c %s -- "$temporary") == "$1" ]] || fail "$temporary" 96
  (require_unchanged) || fail "$temporary" 95
  if [[ ! $kept && -e $real ]]; then
    cp --attributes-only --preserve=mode,ownership,xattr -- "$real" "$temporary" 2>/dev/null ||
      { chown "$(stat -c %u:%g -- "$real")" -- "$temporary" && chmod "$(stat -c %a -- "$real")" -- "$temporary"; } || fail "$temporary" 1
  fi
  # What is mounted cannot be replaced, only written.
  if [[ $kept ]] || ! mv -fT -- "$temporary" "$real" 2>/dev/null; then
    [[ -f $real ]] || fail "$temporary" 95
    exec 4>|"$real" || fail "$temporary" 1
    cat -- "$temporary" >&4 || fail "$temporary" 97
    rm -f -- "$temporary"
  fi
}

fail() {
  rm -f -- "$1"
  exit "$2"
}

[[ ! $6 ]] || IFS= read -rN "$6" new || exit 96
show "$3" "$6"
if [[ $taken ]]; then
  verb=place
else
  read -r verb length || exit 96
  [[ $verb != place ]] || IFS= read -rN "$length" new || exit 96
fi
# From here on it is ended by the end of its input, so that nothing stays half done.
builtin trap '' TERM INT HUP
case $verb in
  place) place ;;
  replace) replace "$length" "$5" ;;
  *) exit 96 ;;
esac
printf 'done\n'
