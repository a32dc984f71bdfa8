# Changes files that are not small, or become so, for file-change.bash. Answers where that said `more`: `large SIZE`, then everything;
# `huge SIZE` or `binary SIZE`, then the beginning. Then reads a line, `replace LENGTH`, and the content.

state() { stat -Lc '%i %s %.Y' -- "$path"; }

show() {
  local size
  if [[ ! -r $path ]]; then
    # May be written and not read.
    kind=unread
    printf 'binary 0\n'
    return
  fi
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
}

fail() {
  rm -f -- "$1"
  exit "$2"
}

# Written beside the file, the content takes its place at once, where that is possible.
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
  # Security: no other user can read it before it has the mode of the file.
  [[ ! -e $real && ! $kept ]] || umask 077
  cat >|"$temporary" || fail "$temporary" 1
  [[ $(stat -c %s -- "$temporary") == "$1" ]] || fail "$temporary" 96
  (require_unchanged) || fail "$temporary" 95
  if [[ ! $kept && -e $real ]]; then
    cp --attributes-only --preserve=mode,ownership,xattr -- "$real" "$temporary" 2>/dev/null ||
      { chown "$(stat -c %u:%g -- "$real")" -- "$temporary" && chmod "$(stat -c %a -- "$real")" -- "$temporary"; } || fail "$temporary" 1
  fi
  # A mount point cannot be replaced, only written.
  if [[ $kept ]] || ! mv -fT -- "$temporary" "$real" 2>/dev/null; then
    [[ -f $real ]] || fail "$temporary" 95
    exec 4>|"$real" || fail "$temporary" 1
    cat -- "$temporary" >&4 || fail "$temporary" 97
    rm -f -- "$temporary"
  fi
}

[[ $kind != other ]] || show "$3"
read -r verb length || exit 96
[[ $verb == replace ]] || exit 96
replace "$length" "$5"
