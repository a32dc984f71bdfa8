# Searches below a directory, or in a file. Arguments: path, `content` or `names`, the number of arguments for ripgrep, these, the number
# for grep, these, and those for find.
# Answers: `ripgrep`, `grep` or `find` and `file` or `directory`, then what it prints, with `./` in front of names. `no-directory` for names in a file; `missing`
# and `special` as in file-plain.bash.

anchor "$1"
require_there
require_no_special
target=$2
ripgrep=("${@:4:$3}")
shift "$((3 + $3))"
grep=("${@:2:$1}")
shift "$((1 + $1))"

place=./ kind=directory
if [[ ! -d $path ]]; then
  place=./${path##*/} kind=file
  path=${path%/*}/
fi
cd -P -- "$path" || exit 1
skipped=()
if [[ $PWD == / ]]; then
  # Files that the kernel generates may have no end.
  skipped=('(' -path ./proc -o -path ./sys -o -path ./dev ')' -prune -o)
  ripgrep+=(--glob '!/proc' --glob '!/sys' --glob '!/dev')
fi

# Older ones cannot do it.
has_perl_expressions() { grep -qP a <<<a 2>/dev/null; }

search() {
  if [[ ${grep[0]} == -P ]]; then
    # To ripgrep a letter is a letter in every locale.
    if has_perl_expressions; then grep[-1]="(*UCP)${grep[-1]}"; else grep[0]=-E; fi
    # Only here: a character is more than a byte to an expression, and a file that is not UTF-8 is no text to grep. Whether it is one
    # was asked before.
    LC_ALL=C.UTF-8 "$@" grep -a "${grep[@]}" --
  else
    "$@" grep -I "${grep[@]}" --
  fi
}

if [[ $target == names ]]; then
  [[ $kind == directory ]] || { printf 'no-directory\n' && exit; }
  printf 'find directory\n'
  find . -mindepth 1 "${skipped[@]}" "$@" -printf '%y%P\0'
elif type -P rg >/dev/null; then
  printf 'ripgrep %s\n' "$kind"
  rg "${ripgrep[@]}" -- "$place" </dev/null
elif [[ $kind == file ]]; then
  printf 'grep %s\n' "$kind"
  if grep -qI '' "$place" </dev/null; then printf '%s\0' "$place" | search xargs -0; fi
elif [[ ${grep[0]} == -P ]]; then
  printf 'grep %s\n' "$kind"
  find . "${skipped[@]}" "$@" -type f -print0 | xargs -0 -r grep -lIZ '' | search xargs -0 -r
else
  printf 'grep %s\n' "$kind"
  find . "${skipped[@]}" "$@" -type f -print0 | search xargs -0 -r
fi
:
