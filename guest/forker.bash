# The forker: runs inside a sandbox for as long as it lives, starts shells on named pipes when the host asks, signals what a
# command started, and ends the sandbox when nobody has been attached for the length of the lease.
#
#   bash forker.bash RUN_DIRECTORY LEASE_SECONDS
#
# The host writes one request a line to RUN_DIRECTORY/control. Everybody inside is one trust domain: a command can do to the
# forker whatever it can do to itself, and nothing here protects the host. The host protects itself.

if ((BASH_VERSINFO[0] < 5)); then
  echo "bash $BASH_VERSION is too old: 5.0 or newer is needed" >&2
  exit 70
fi

# Job control gives every shell a process group of its own and leaves SIGINT alone, which a plain `&` would ignore for good.
set -m
run=$1 lease=$2
declare -A base_of=() attachment_of=()
cd /
exec {control}<>"$run/control"

# A command and all it starts carry a number as their soft limit of file locks, which the kernel stopped using long ago: unlike
# the environment, the session or the parent it survives `env -i`, setsid and a double fork.
members() {
  local process limits state
  found=()
  # Security: anything else could match the word `unlimited`, and with it every process there is.
  [[ $1 == [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]* ]] || return 0
  for process in /proc/[0-9]*; do
    limits= state=
    { IFS= read -rd '' limits <"$process/limits"; } 2>/dev/null
    # shellcheck disable=SC2053 # the pattern is meant
    [[ $limits == *"Max file locks            "$1" "* ]] || continue
    { IFS= read -rd '' state <"$process/stat"; } 2>/dev/null
    # A zombie is dead: it only waits for its parent to notice.
    [[ $state && ${state##*) } != [ZX]* ]] && found+=("${process#/proc/}")
  done
}

# Root without CAP_KILL may not signal another user's process, but it can become that user.
signal() {
  local status uid
  kill -s "$1" "$2" 2>/dev/null && return
  { IFS= read -rd '' status <"/proc/$2/status"; } 2>/dev/null
  [[ $status =~ Uid:[[:space:]]+([0-9]+) ]] || return 0
  uid=${BASH_REMATCH[1]}
  [[ $uid == "$EUID" ]] || setpriv --reuid "$uid" --clear-groups bash -c 'kill -s "$1" "$2"' bash "$1" "$2" 2>/dev/null
}

# Stopping everything first keeps a fork bomb from outrunning its killer.
kill_all() {
  local pid stopped=' ' fresh tries
  for ((tries = 0; tries < 100; tries++)); do
    fresh=0
    members "$1"
    for pid in "${found[@]}"; do
      [[ $stopped == *" $pid "* ]] && continue
      stopped+="$pid " fresh=1
      signal STOP "$pid"
    done
    ((fresh)) || break
  done
  for ((tries = 0; tries < 400; tries++)); do
    members "$1"
    ((${#found[@]})) || return 0
    for pid in "${found[@]}"; do signal KILL "$pid"; done
    read -rt 0.005 _ <&"$nothing"
  done
  return 1
}

# With no room for a process bash would wait for seconds inside fork and then give up on the whole sandbox.
room() {
  local current=0 most=max place
  for place in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    [[ -r $place/pids.current ]] || continue
    { read -r current <"$place/pids.current" && read -r most <"$place/pids.max"; } 2>/dev/null
    [[ $most == max ]] || ((current + 4 <= most))
    return
  done
}

linger() {
  local status
  IFS= read -rN 1 -t 0.01 _ <&"$1"
  status=$?
  ((status == 1)) || exec cat <&"$1" >/dev/null
}

# What a shell that runs one command does. On one line, so that all of it is read before the command can set an alias or `set -v`;
# and so that its traps and tracing see nothing of how it ends.
body='. "$1"; builtin eval -- "$__hermetic_script"; { __hermetic_done=$?; builtin trap - DEBUG ERR; builtin set +exv; } >/dev/null 2>&1; '
body+='builtin exit "$__hermetic_done"'

# One for each shell: learns how it ended, and reads what its background processes print once the host has let go, so that they
# neither stop at a full pipe nor die of a broken one.
supervise() {
  local at=$1 mark=$2 mode=$3 rows=$4 columns=$5 end out err acknowledged both to_out to_err
  # Opened both ways first, because opening one way would wait for the other side, and from here on the pipes of the output always
  # have a writer until the last process of the command is gone.
  exec {end}<>"$at.end" {both}<>"$at.ack" {acknowledged}<"$at.ack" {both}>&-
  exec {both}<>"$at.out" {out}<"$at.out" {to_out}>"$at.out" {both}>&-
  exec {both}<>"$at.err" {err}<"$at.err" {to_err}>"$at.err" {both}>&-
  set -m
  (
    ulimit -S -x "$mark"
    exec <"$at.in" >&"$to_out" 2>&"$to_err" {to_out}>&- {to_err}>&- {end}>&- {out}<&- {err}<&- {acknowledged}<&- {control}>&- {nothing}>&-
    shell=$run/shell.bash
    case $mode in
      warm | base) exec bash --noprofile --norc -c "$body" bash "$shell" "$at" "$mode" ;;
      lines) BASH_ENV=$shell __HERMETIC_AT=$at __HERMETIC_MODE=$mode exec bash --noprofile --norc -s ;;
    esac
    command -v script >/dev/null || { echo 'hermetic: a terminal needs the program script (util-linux) in the sandbox' >&2; exit 127; }
    [[ ${TERM:-dumb} != dumb ]] || TERM=xterm-256color
    export TERM SHELL=$BASH __HERMETIC_BODY=$body __HERMETIC_SHELL=$shell __HERMETIC_AT=$at __HERMETIC_MODE=$mode
    case $mode in
      terminal) start='bash --noprofile --norc -c "$__HERMETIC_BODY" bash "$__HERMETIC_SHELL"' ;;
      interactive) start='bash --noprofile --rcfile "$__HERMETIC_SHELL" -i' ;;
    esac
    # Whoever waits for the shell remarks on it when it was killed; `script` would only pass a number on.
    exec script -qefc "stty echo rows $rows cols $columns 2>/dev/null; exec 3>&2 2<>\"\$__HERMETIC_AT.end\"; $start 2>&3 3>&-; exit" /dev/null
  ) 2>/dev/null &
  exec 2>&"$end" {to_out}>&- {to_err}>&-
  wait -f $!
  printf 'S %d\n' $? >&"$end"
  printf 'ended %s\n' "$mark" >&"$control"
  read -r _ <&"$acknowledged"
  exec {end}>&- {acknowledged}<&- 2>/dev/null
  linger "$out" &
  linger "$err"
}

# Nothing ever arrives here: reading from it with a time limit is a pause that needs no process.
exec {nothing}<> <(:) 2>/dev/null
exec 2>/dev/null

# Together with its base: every mark of an attachment.
any='[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]'

# Whoever started the forker attaches to it soon, or is dead.
patience=60
while :; do
  if ((${#base_of[@]})); then
    read -r verb attachment a b c d e <&"$control" || continue
  elif ! read -r -t "$patience" verb attachment a b c d e <&"$control"; then
    break
  fi
  case $verb in
    attach) # attachment base
      base_of[$attachment]=$a
      patience=$lease
      (
        read -r _ <"$run/$attachment/alive"
        printf 'detached %s\n' "$attachment" >&"$control"
      ) &
      printf 'hello\n' 1<>"$run/$attachment/events"
      ;;
    detached)
      for mark in "${!attachment_of[@]}"; do
        [[ ${attachment_of[$mark]} == "$attachment" ]] && kill_all "$mark" && unset "attachment_of[$mark]"
      done
      if ((lease == 0)); then kill_all "${base_of[$attachment]}$any"; fi
      unset "base_of[$attachment]"
      ((lease == 0 && ${#base_of[@]} == 0)) && break
      ;;
    spawn) # attachment number mark mode rows columns
      if room; then
        attachment_of[$b]=$attachment
        supervise "$run/$attachment/$a" "$b" "$c" "$d" "$e" &
      else
        printf 'F\n' 1<>"$run/$attachment/$a.end"
      fi
      ;;
    ended) unset "attachment_of[$attachment]" ;;
    kill) # attachment mark signal sequence
      if [[ $b == KILL ]]; then
        kill_all "$a"
      else
        members "$a"
        for pid in "${found[@]}"; do signal "$b" "$pid"; done
      fi
      members "$a"
      printf 'killed %s %d\n' "$c" "${#found[@]}" 1<>"$run/$attachment/events"
      ;;
    stop)
      for attachment in "${!base_of[@]}"; do kill_all "${base_of[$attachment]}$any"; done
      break
      ;;
  esac
done
