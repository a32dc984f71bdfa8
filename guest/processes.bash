# What stands before every script that signals the processes of a command.

# A command and all it starts carry a number as their soft limit of file locks, which the kernel stopped using long ago: unlike
# the environment, the session or the parent it survives `env -i`, setsid and a double fork.
# Each one is handed to `$2`, with its group, as soon as it is found: beside hundreds of busy processes it takes seconds to look at all.
members() { # mark [function]
  local process limits state
  found=()
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
    found+=("${process#/proc/}")
    [[ -z ${2-} ]] || "$2" "${process#/proc/}" "${BASH_REMATCH[1]}"
  done
}

# Whether a process of any command still runs whose mark fits the pattern. A shell that waits for its command is none.
runs_any() { # pattern mark-of-the-waiting-shell
  local process limits state number
  for process in /proc/[0-9]*; do
    limits= state=
    { IFS= read -rd '' limits <"$process/limits"; } 2>/dev/null
    [[ $limits =~ 'Max file locks'\ +([0-9]{17})\  ]] || continue
    number=${BASH_REMATCH[1]}
    # shellcheck disable=SC2053 # the pattern is meant
    [[ $number == $1 && $number != "${2-}" ]] || continue
    { IFS= read -rd '' state <"$process/stat"; } 2>/dev/null
    [[ ${state##*) } == [!ZX]\ * ]] && return 0
  done
  return 1
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

# Every process once: for some programs the second signal means more than the first. Whole groups at a time, because that takes a moment
# however many they are and however little of the processor they leave us.
signal_all() { # mark signal
  local own wanted=$2 told=' '
  IFS=' ' read -r _ _ _ _ own _ </proc/$BASHPID/stat
  members "$1" signal_found
}
signal_found() { # process group
  if [[ $2 == "$own" || ! -O /proc/$1 ]]; then
    signal "$wanted" "$1"
  elif [[ $told != *" $2 "* ]]; then
    told+="$2 "
    kill -s "$wanted" -- "-$2" 2>/dev/null
  fi
}

halt() { # process group
  [[ $stopped != *" $1 "* ]] || return 0
  stopped+="$1 " fresh=1
  [[ $2 == "$own" ]] || kill -s STOP -- "-$2" 2>/dev/null
  signal STOP "$1"
}

# Stopping everything first keeps a fork bomb from outrunning its killer.
kill_all() {
  local pid own stopped=' ' fresh tries
  IFS=' ' read -r _ _ _ _ own _ </proc/$BASHPID/stat
  for ((tries = 0; tries < 100; tries++)); do
    fresh=0
    members "$1" halt
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
