# The forker: runs inside a sandbox for as long as it lives, starts shells on named pipes when the host asks, signals what a
# command started, and ends the sandbox when no program has been attached for the length of the lease
# and no command has left a process running, or has for longer than BACKGROUND_SECONDS (0: however long).
#
#   bash forker.bash RUN_DIRECTORY LEASE_SECONDS [MAX_PROCESSES] [BACKGROUND_SECONDS] [own]
#
# `own`: no process that it sees belongs to anything but its sandbox.
#
# Further arguments are what it knew when it had to begin anew.
#
# The host writes one request a line to RUN_DIRECTORY/control. All processes inside are one trust domain: a command can do to the
# forker all it can do to itself, and nothing here protects the host. The host protects itself.

if ((BASH_VERSINFO[0] < 5)); then
  echo "bash $BASH_VERSION is too old: 5.0 or newer is needed" >&2
  exit 70
fi

# Job control gives every shell a process group of its own and leaves SIGINT alone, which a plain `&` would ignore for good.
set -m
run=$1 lease=$2 max=${3:-0} background=${4:-0} namespace=${5:-shared} alone=0 known=
declare -A base_of=() attachment_of=() supervisor_of=()
cd /
if (($# > 5)); then
  wait_seconds=$6 control=$7 nothing=$8 known=$9
  eval "${10}; ${11}"
else
  # The program that started the forker attaches soon, or is dead or no longer waits.
  wait_seconds=20
  exec {control}<>"$run/control"
  # Nothing ever arrives here: reading from it with a time limit is a pause that needs no process.
  { exec {nothing}<> <(:); } 2>/dev/null
fi

rest() { read -rt "$1" _ <&"$nothing"; }

# Whether a process still has the other end of this pipe.
lingers() {
  IFS= read -rN 1 -t 0.01 _ <&"$1"
  (($? != 1))
}

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
  # Bash ends when it cannot fork, and then knows no local names.
  trap "printf 'F\n' >&$end" EXIT
  (
    carry "$mark"
    # Commands leave some processes for us: a forker that cannot fork cannot kill the command that keeps it from forking.
    ((max == 0)) || ulimit -S -u "$max"
    exec <"$at.in" >&"$to_out" 2>&"$to_err" {to_out}>&- {to_err}>&- {end}>&- {out}<&- {err}<&- {acknowledged}<&- {control}>&- {nothing}>&-
    export __HERMETIC_SHELL=$run/shell.bash __HERMETIC_AT=$at __HERMETIC_MODE=$mode
    become "$mode" "$rows" "$columns" '. "$__HERMETIC_SHELL"' "$run/shell.bash" '2<>"$__HERMETIC_AT.end"'
  ) 2>/dev/null &
  local shell=$! status
  trap - EXIT
  exec 2>&"$end" {to_out}>&- {to_err}>&-
  await "$shell"
  # First: once the host knows, it may go away, and what the command left in the background must not end with it.
  printf 'ended %s\n' "$mark" >&"$control"
  printf 'S %d\n' "$status" >&"$end"
  read -r _ <&"$acknowledged"
  exec {end}>&- {acknowledged}<&- 2>/dev/null
  if lingers "$out"; then cat <&"$out" >/dev/null & fi
  if lingers "$err"; then exec cat <&"$err" >/dev/null; fi
}

exec 2>/dev/null
watch_strays "$namespace"

# The marks of the commands that an attachment has running, as a pattern.
forget() {
  local mark
  marks=
  for mark in "${!attachment_of[@]}"; do
    [[ ${attachment_of[$mark]} == "$1" ]] || continue
    unset "attachment_of[$mark]" "supervisor_of[$mark]"
    # Security: a pattern in its place could match every process there is.
    [[ $mark == *[!0-9]* ]] || marks+="|$mark"
  done
}

# Ends what an attachment left running.
leave() {
  forget "$1"
  # All at once: looking for one takes as long as looking for hundreds.
  [[ -z $marks ]] || kill_all "@(${marks:1})"
}

# Whether a process runs that a command of any attachment started, of those that are gone as well.
occupied() { # [mark-of-the-waiting-shell]
  local bases
  [[ $known ]] && runs_any "@($known)*" "${1-}" && return
  bases=${base_of[*]}
  known=${bases// /|}
  return 1
}

# Processes that a command left running keep the sandbox from ending.
holds() { ((background == 0 || SECONDS - alone < background)) && occupied; }

# Whether there is room for a process is known only for the moment of looking, and bash ends when it cannot fork. The forker must outlive
# a command that takes all the room, or nothing could end that command: it begins anew in its own place, for which no process is needed, and refuses what
# it was asked for. In a single command, after which bash would wait for a child.
trap '(($? == 126 || $? == 254)) && exec bash "$run/forker.bash" "$run" "$lease" "$max" "$background" "$namespace" "$wait_seconds" "$control" "$nothing" "$known" \
  "${base_of[*]@A}" "${attachment_of[*]@A}" "$verb" "$attachment" "$a" "$b"' EXIT

case ${12-} in
  attach) unset "base_of[${13}]" ;;
  detached)
    unset "base_of[${13}]"
    leave "${13}"
    ;;
  spawn)
    unset "attachment_of[${15}]"
    printf 'F\n' 1<>"$run/${13}/${14}.end"
    ;;
esac

while :; do
  if ((${#base_of[@]})); then
    read -r verb attachment a b c d e <&"$control" || continue
  elif ! read -r -t "$wait_seconds" verb attachment a b c d e <&"$control"; then
    holds || break
    wait_seconds=$((lease < 60 ? lease : 60))
    continue
  fi
  case $verb in
    attach) # attachment base
      # Security: it becomes a part of patterns.
      [[ $a && $a != *[!0-9]* ]] || continue
      base_of[$attachment]=$a
      known+=${known:+|}$a
      wait_seconds=$lease
      (
        # Opened both ways first: the program that attached may be dead already, and then opening would wait for ever.
        if [[ -p $run/$attachment/alive ]]; then
          exec {both}<>"$run/$attachment/alive" {alive}<"$run/$attachment/alive" {both}>&-
          # A line is a nudge: a signal ends the seconds for which bash waits for room to fork.
          while read -r _ <&"$alive"; do kill -s CHLD $$; done
        fi
        printf 'detached %s\n' "$attachment" >&"$control"
      ) &
      printf '\nhello\n' 1<>"$run/$attachment/events"
      ;;
    detached)
      if ((lease == 0)); then
        kill_all "${base_of[$attachment]}$any"
        forget "$attachment"
      else
        # A command that has just ended may not have said so yet, and what it left in the background is to stay.
        (
          read -rt 0.2 _ <&"$nothing"
          printf 'gone %s\n' "$attachment" >&"$control"
        ) &
      fi
      unset "base_of[$attachment]"
      alone=$SECONDS
      ((lease == 0 && ${#base_of[@]} == 0)) && break
      ;;
    gone) leave "$attachment" ;;
    spawn) # attachment number mark mode rows columns
      # Security: without a mark nothing would ever end it.
      if is_mark "$b" && __hermetic_room; then
        attachment_of[$b]=$attachment
        supervise "$run/$attachment/$a" "$b" "$c" "$d" "$e" &
        supervisor_of[$b]=$!
      else
        printf 'F\n' 1<>"$run/$attachment/$a.end"
      fi
      ;;
    ended) unset "attachment_of[$attachment]" "supervisor_of[$attachment]" ;;
    # attachment mark: its shell does not come, perhaps because its supervisor waits for room to fork. A signal ends that.
    nudge) [[ -z ${supervisor_of[$a]-} ]] || kill -s CHLD "${supervisor_of[$a]}" ;;
    kill) # attachment mark-or-all signal sequence
      if [[ $a == all ]]; then
        # Where others have processes as well, those of our attachments.
        if [[ $namespace == own ]]; then a=$every; else a="@($known)$any"; fi
      fi
      if [[ $b == KILL ]]; then
        kill_all "$a"
      else
        signal_all "$a" "$b"
      fi
      printf '\nkilled %s %d\n' "$c" "${#found[@]}" 1<>"$run/$attachment/events"
      ;;
    live) # attachment mark-of-the-waiting-shell sequence
      if occupied "$a"; then a=1; else a=0; fi
      printf '\nlive %s %d\n' "$b" "$a" 1<>"$run/$attachment/events"
      ;;
    stop)
      for attachment in "${!base_of[@]}"; do kill_all "${base_of[$attachment]}$any"; done
      break
      ;;
  esac
done
