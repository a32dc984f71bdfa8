# The records of a session's background processes: a directory each, see background.bash. Stands behind own-directory.bash.
#
#   make SANDBOX ID COMMAND KEPT     makes the record of a new process and prints its directory; of those that ended, KEPT stay
#   list SANDBOX                     prints the directory of all, then a line each: id, start, how it ended, bytes of log, whether its
#                                    input is closed, the command in base64
#   log DIRECTORY OFFSET BYTES       prints the length of the log, then a piece of it
#   write DIRECTORY                  writes standard input to the process
#   close DIRECTORY                  ends the input of the process
#   resize DIRECTORY ROWS COLUMNS    resizes the terminal of the process

make() {
  own_directory "$1"
  own=$own/processes
  umask 077
  mkdir -p -- "$own" && cd -- "$own" || exit 1
  # shellcheck disable=SC2012
  ls -1t | grep -xE '[0-9a-f]{8}' | tail -n "+$4" | while IFS= read -r old; do [[ ! -e $old/exit ]] || rm -rf -- "./$old"; done
  mkdir -- "$2" && cd -- "$2" && mkfifo in close done ready && : >log && printf %s "$3" >command && date +%s >started || exit 1
  printf %s "$own/$2"
}

list() {
  local id how started closed
  own_directory "$1"
  cd -- "$own/processes" 2>/dev/null || exit 0
  printf '%s\n' "$PWD"
  for id in *; do
    [[ -e $id/mark ]] || continue
    how=- started=0 closed=-
    [[ ! -e $id/exit ]] || read -r how <"$id/exit"
    read -r started <"$id/started"
    [[ ! -e $id/closed ]] || closed=closed
    printf '%s %s %s %s %s %s\n' "$id" "$started" "$how" "$(stat -c %s -- "$id/log")" "$closed" "$(head -c 65536 -- "$id/command" | base64 | tr -d '\n')"
  done
}

log() { stat -c %s -- "$1/log" && tail -c "+$(($2 + 1))" -- "$1/log" | head -c "$3"; }

write() {
  [[ ! -e $1/exit ]] || { echo 'it has ended' >&2; exit 1; }
  [[ ! -e $1/closed ]] || { echo 'its input is closed' >&2; exit 1; }
  cat 1<>"$1/in"
}

close() {
  : >"$1/closed"
  echo 1<>"$1/close"
}

resize() {
  [[ -e $1/tty ]] || { echo 'it does not run on a terminal' >&2; exit 1; }
  stty rows "$2" cols "$3" <"$(<"$1/tty")"
}

"$@"
