# Runs before every file tool's script: removes the session's functions, aliases and options, which could stand in
# the way of anything below.
\builtin unset -f unset unalias shopt set export shift exec exit read printf umask trap type cd local
\builtin unalias -a
unset -f stat cat cp mv rm mkdir chmod chown readlink find grep rg xargs head tail wc
shopt -u nocasematch failglob extdebug
set +eu
IFS=$' \t\n'
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export PATH LC_ALL=C

# Security: no name can be taken for an option.
anchor() {
  case $1 in
    '~') path=$HOME ;;
    '~/'*) path=$HOME/${1:2} ;;
    /*) path=$1 ;;
    *) path=./$1 ;;
  esac
}

# Names beside a path that is not there, or in a directory, each after its first letter: `d` for a directory.
print_names() {
  local name count=0
  shopt -s nullglob dotglob
  for name in "$1"/*; do
    ((count++ < 1000)) || break
    if [[ -d $name ]]; then printf 'd%s\0' "${name##*/}"; else printf 'f%s\0' "${name##*/}"; fi
  done
}

require_there() {
  local directory=$path
  [[ ! -e $path ]] || return 0
  until directory=${directory%/*} && [[ -d ${directory:-/} ]]; do [[ $directory ]] || break; done
  printf 'missing %d\n%s' "${#directory}" "$directory"
  print_names "$directory"
  exit
}

require_no_special() {
  local kind='a device'
  [[ -e $path && ! -f $path && ! -d $path ]] || return 0
  [[ ! -p $path ]] || kind='a named pipe'
  [[ ! -S $path ]] || kind='a socket'
  printf 'special %s\n' "$kind"
  exit
}

require_no_directory() {
  [[ -d $path ]] || return 0
  printf 'directory\n'
  print_names "$path"
  exit
}
