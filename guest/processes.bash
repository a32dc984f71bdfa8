# Finds and signals the processes of a command by their mark. Stands before every script that does so, and behind carrier.bash.

# A command and all it starts carry a number as their hard limit of file locks, and what is missing to this sum as their hard limit of
# resident memory (in kB). Linux stopped using both long ago. Unlike the environment, the session or the parent they survive `env -i`,
# setsid and a double fork. Security: a hard limit can be lowered and never raised again (sandboxes lack CAP_SYS_RESOURCE), and lowering
# one breaks the sum: no process can take the number of another command, or have none.
mark_sum=9000000000000000
# Follows a base: every mark of an attachment. Marks have 16 digits, the first from 1 to 7.
any='[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]'
every="[1-7][0-9][0-9][0-9][0-9][0-9][0-9]$any"
# The soft limit of file locks of a tether. Before the base of its marks, it is the hard limit.
tether_number=70000001
# With `own` processes that broke their sum are killed along: only where all processes are those of one sandbox.
strays=

# Where the hard limits were lowered before us, the sum is broken from the start and says nothing.
watch_strays() { # own or shared
  local limits=
  if [[ $carrier == environment ]]; then strays=$1; return; fi
  { IFS= read -rd '' limits </proc/$$/limits; } 2>/dev/null
  [[ $1 != own || ! $limits =~ 'Max resident set'\ +[^\ ]+\ +unlimited\ .*'Max file locks'\ +[^\ ]+\ +unlimited\  ]] || strays=own
}

is_mark() { [[ $1 =~ ^[1-7][0-9]{15}$ ]]; }

# Security: what is not a mark must not get into the arithmetic.
carry() { # mark
  is_mark "$1" || return
  if [[ $carrier == environment ]]; then
    export HERMETIC_COMMAND=$1
  else
    { ulimit -x "$1" && ulimit -m "$((mark_sum - $1))"; } 2>/dev/null
  fi
}

# Whether a process is neither of a command nor ours. Ours have this word after their script.
is_foreign() { # process
  local words=()
  { mapfile -td '' words <"$1/cmdline"; } 2>/dev/null
  ((${#words[@]})) && [[ -z $mark_found && ${1#/proc/} != 1 && ${words[5]-} != hermetic ]]
}

# Whether a process began with a mark and has broken it since.
is_stray() { # limits
  local memory
  [[ $1 =~ 'Max resident set'\ +[^\ ]+\ +([0-9]+)\  ]] || return 1
  memory=${BASH_REMATCH[1]}
  [[ $1 =~ 'Max file locks'\ +[^\ ]+\ +([0-9]+)\  ]] || return 0
  ((BASH_REMATCH[1] + memory / 1024 != mark_sum))
}

# Each one is handed to `$2`, with its group, as soon as it is found: beside hundreds of busy processes it takes seconds to look at all.
members() { # mark [function [with-strays]]
  local process limits state
  found=()
  # Security: anything else could match the word `unlimited`, and with it every process there is.
  [[ $1 == "$every" || $1 == ?(@\()[1-7][0-9][0-9][0-9][0-9][0-9][0-9]* ]] || return 0
  for process in /proc/[0-9]*; do
    limits= state=
    if [[ $carrier == environment ]]; then
      mark_in "$process"
      # shellcheck disable=SC2053 # the pattern is meant
      [[ $mark_found == $1 ]] || { [[ ${3-} == own ]] && is_foreign "$process"; } || continue
    else
      { IFS= read -rd '' limits <"$process/limits"; } 2>/dev/null
      # shellcheck disable=SC2053 # the pattern is meant
      [[ $limits == *"Max file locks            "????????????????????" "$1" "* ]] || { [[ ${3-} ]] && is_stray "$limits"; } || continue
    fi
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
    if [[ $carrier == environment ]]; then
      mark_in "$process"
      is_mark "$mark_found" || continue
      number=$mark_found
    else
      { IFS= read -rd '' limits <"$process/limits"; } 2>/dev/null
      [[ $limits =~ 'Max file locks'\ +[^\ ]+\ +([0-9]{16})\  ]] || continue
      number=${BASH_REMATCH[1]}
    fi
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

# Stopping everything first keeps a fork bomb from outrunning its killer. What is left is in `found`.
kill_all() { # mark
  local pid own stopped=' ' fresh tries
  IFS=' ' read -r _ _ _ _ own _ </proc/$BASHPID/stat
  for ((tries = 0; tries < 100; tries++)); do
    fresh=0
    members "$1" halt "$strays"
    ((fresh)) || break
  done
  for ((tries = 0; tries < 400; tries++)); do
    members "$1" '' "$strays"
    ((${#found[@]})) || return 0
    for pid in "${found[@]}"; do signal KILL "$pid"; done
    read -rt 0.005 _ <&"$nothing"
  done
  return 1
}
