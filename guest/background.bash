# Launches a command in the background of a session, so that it outlives the command that launched it and the host.
#
#   $1 directory of the process   $2 command   $3 rows and columns of its terminal, or nothing
#
# Runs in a shell of the session, where any name may mean something else: builtins only, and no name of ours is left for the command.
# The host and the scripts that signal find the processes by the mark they inherit from this shell.
#
#   in     what the process reads; has a writer until `close` is written to
#   log    what it prints
#   done   has a writer until it has ended
#   exit   how it ended, once it has
#   ready  a byte each from the command's process and from the one that waits for it, once a signal does to them what it should

# See `carry` in processes.bash.
if builtin ulimit -S -x soft; then builtin ulimit -H -x; else builtin printf '%s\n' "${HERMETIC_COMMAND-}"; fi >"$1/mark" 2>/dev/null
# Opened here and not by the forked process: a follower finds a writer from the first moment on.
{
  (
    # Without job control what runs in the background would ignore SIGINT for good.
    builtin set -m
    ( builtin read -r _ <&3 ) 3<>"$1/close" 4<>"$1/in" &
    __hermetic_keeper=$!
    (
      builtin set +m
      builtin unset __hermetic_keeper
      builtin printf x 1<>"$1/ready"
      if [[ -z $3 ]]; then
        builtin eval -- "builtin set --; $2"
      else
        {
          builtin shopt -p
          builtin alias -p
          for __hermetic_name in $(builtin compgen -A function); do
            [[ $__hermetic_name == __hermetic_* || $__hermetic_name == trap ]] || builtin declare -f -- "$__hermetic_name"
          done
          builtin printf 'tty >%q/tty; stty rows %s cols %s\neval -- %q\n' "$1" $3 "$2"
        } >"$1/main" 2>/dev/null
        [[ ${TERM:-dumb} != dumb ]] || builtin export TERM=xterm-256color
        builtin printf -v __hermetic_name 'exec bash --noprofile --norc %q/main' "$1"
        builtin exec script -qefc "$__hermetic_name" /dev/null
      fi
    ) 3>&- <"$1/in" >>"$1/log" 2>&1 &
    { builtin set +eux; } 2>/dev/null
    builtin trap '' HUP INT TERM
    builtin printf x 1<>"$1/ready"
    builtin wait $!
    builtin printf '%s\n' "$?" >|"$1/exit"
    # Also when it could not begin.
    builtin printf x 1<>"$1/ready"
    builtin kill "$__hermetic_keeper"
  ) </dev/null >/dev/null 2>&1 4>&- &
  # Until then a signal would be lost: a new process still ignores what the one it was forked from does.
  builtin read -rN 2 -t 10 _ <&4 || builtin exit 0
} 3<>"$1/done" 4<>"$1/ready"
# Not by coming to its end, which the host hears of before this shell is gone; until then a program that detaches would end its processes.
builtin exit 0
