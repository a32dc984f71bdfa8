# What stands before every script that signals the processes of a command.

# A command and all it starts carry a number as their soft limit of file locks, which the kernel stopped using long ago: unlike
# the environment, the session or the parent it survives `env -i`, setsid and a double fork.
members() {
  local process limits state
  found=() group_of=()
  # Security: anything else could match the word `unlimited`, and with it every process there is.
  [[ $1 == ?(@\()[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]* ]] || return 0
  for process in /proc/[0-9]*; do
    limits= state=
    { IFS= read -rd '' limits <"$process/limits"; } 2>/dev/null
    # shellcheck disable=SC2053 # the pattern is meant
    [[ $limits == *"Max file locks            "$1" "* ]] || continue
    { IFS= read -rd '' state <"$process/stat"; } 2>/dev/null
    # A zombie is dead: it only waits for its parent to notice.
    [[ ${state##*) } =~ ^[^ZX]\ [0-9]+\ ([0-9]+) ]] || continue
    found+=("${process#/proc/}") group_of[${process#/proc/}]=${BASH_REMATCH[1]}
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

# Stopping everything first keeps a fork bomb from outrunning its killer; and whole groups, because that takes a moment however many
# they are and however little of the processor they leave us.
kill_all() {
  local pid own stopped=' ' fresh tries
  IFS=' ' read -r _ _ _ _ own _ </proc/$BASHPID/stat
  for ((tries = 0; tries < 100; tries++)); do
    fresh=0
    members "$1"
    for pid in "${found[@]}"; do
      [[ $stopped == *" $pid "* ]] && continue
      stopped+="$pid " fresh=1
      [[ ${group_of[$pid]} == "$own" ]] || kill -s STOP -- "-${group_of[$pid]}" 2>/dev/null
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
