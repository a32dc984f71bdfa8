# How a process becomes a shell, and how that ends. Stands before the scripts that start shells: forker.bash and supervisor.bash.

# The program of a shell that runs one command, once it has sourced ours. On one line, so that all of it is read before the command can set an alias
# or `set -v`; and so that its traps and tracing see nothing of how it ends. `exec` could not redirect its input: the session may have a function of that name.
body='builtin eval -- "$__hermetic_script" <&"$__hermetic_input"; { __hermetic_done=$?; builtin trap - DEBUG ERR; builtin set +exv; } >/dev/null 2>&1; '
body+='builtin exit "$__hermetic_done"'

# Never returns. `load` is bash source that makes any bash one of ours, and `file` a file in which it stands. `remarks` redirects what
# bash remarks on the end of a shell that runs on a terminal: the process that waits for it sees that it was killed, `script` would only pass a
# number on.
become() { # mode rows columns load file remarks
  local start
  case $1 in
    warm | base) exec bash --noprofile --norc -c "$4; $body" ;;
    lines) BASH_ENV=$5 exec bash --noprofile --norc -s ;;
    terminal) start='bash --noprofile --norc -c "$__HERMETIC_BODY"' ;;
    interactive) start='bash --noprofile --rcfile "$__HERMETIC_FILE" -i' ;;
  esac
  command -v script >/dev/null || { echo 'hermetic: a terminal needs the program script (util-linux) in the sandbox' >&2; exit 127; }
  [[ ${TERM:-dumb} != dumb ]] || TERM=xterm-256color
  export TERM SHELL=$BASH __HERMETIC_BODY="$4; $body" __HERMETIC_FILE=$5
  exec script -qefc "stty echo rows $2 cols $3 2>/dev/null; exec 3>&2 $6; $start 2>&3 3>&-; exit" /dev/null
}

# Sets `status` to how a shell ended; `rest` pauses for so many seconds. Not by `wait -f`: that never returns, and complains without end,
# when the end was noticed before it was called.
await() { # process
  local last rounds=0 pause=0.005
  wait "$1"
  status=$?
  # `wait` takes a stop for the end, and a command that is killed is stopped first.
  while kill -0 "$1" 2>/dev/null; do
    rest "$pause"
    ((++rounds < 40)) || pause=0.1
    wait "$1"
    status=$?
  done
  # It may have been killed between the two looks at it, and `wait` have told of the stop before that.
  if ((status > 146 && status < 151)); then
    wait "$1"
    last=$?
    ((last == 127)) || status=$last
  fi
}
