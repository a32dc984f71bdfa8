# Tries from inside a sandbox what must not be possible there, and says what happened. It judges nothing: the host knows what should
# have happened, and checks for itself what it can see. Needs bash and coreutils.
#
#   bash -c "$(<proof.bash)" MARK      # questions on standard input, answers on standard output
#
# First come facts, one a line: `fact NAME VALUE`, and `ready`. Then each question is answered by `answer ID OUTCOME DETAIL`. Fields
# are parted by tabs. A question is NUL-ended words: verb, id, two or three arguments as the verb needs them.

say() {
  local word line=$1
  shift
  for word; do line+=$'\t'${word//[[:cntrl:]]/ }; done
  printf '%s\n' "$line"
}

fact_of_file() { # name path
  local value=
  { IFS= read -r value <"$2"; } 2>/dev/null
  [[ -z $value ]] || say fact "$1" "$value"
}

facts_of_lines() { # name path
  local line
  [[ -r $2 ]] || return 0
  while IFS= read -r line; do say fact "$1" "$line"; done 2>/dev/null <"$2"
}

tell_facts() {
  local name value kind
  fact_of_file kernel /proc/sys/kernel/osrelease
  while read -r name value; do
    case $name in Cap* | NoNewPrivs: | Seccomp: | Uid:) say fact "status-${name%:}" "$value" ;; esac
  done </proc/self/status
  for kind in cgroup ipc mnt net pid user uts; do
    value=$(readlink "/proc/self/ns/$kind") && say fact "namespace-$kind" "$value"
  done 2>/dev/null </dev/null
  facts_of_lines user-map /proc/self/uid_map
  facts_of_lines mount /proc/self/mountinfo
  fact_of_file limit-memory /sys/fs/cgroup/memory.max
  fact_of_file limit-memory /sys/fs/cgroup/memory/memory.limit_in_bytes
  fact_of_file limit-pids /sys/fs/cgroup/pids.max
  fact_of_file limit-pids /sys/fs/cgroup/pids/pids.max
  facts_of_lines route /proc/net/route
  facts_of_lines route6 /proc/net/ipv6_route
  [[ -z ${KUBERNETES_SERVICE_HOST-} ]] || say fact cluster-api "$KUBERNETES_SERVICE_HOST"
}

# Every place where a directory of the host could have been put.
find_places() {
  local line fields
  places=('' /host /hostfs /rootfs /mnt /media /proc/1/root)
  while read -ra fields; do
    printf -v line '%b' "${fields[4]}"
    places+=("${line%/}")
  done </proc/self/mountinfo
}

# A file of the host, under its own path and, below every place, under each end of that path.
look() { # path
  local place rest found content
  outcome=absent detail=
  for place in "${places[@]}"; do
    rest=$1
    while [[ $rest ]]; do
      found=$place$rest
      if [[ -e $found ]]; then
        content=
        { IFS= read -r -n 128 content <"$found"; } 2>/dev/null
        detail="$content $found"
        outcome=present
        return
      fi
      rest=${rest#/}
      if [[ $rest == */* ]]; then rest=/${rest#*/}; else rest=; fi
    done
  done
}

command_line_has() { # pid word
  local -a words=()
  { mapfile -d '' -t words <"/proc/$1/cmdline"; } 2>/dev/null
  [[ "${words[*]}" == *"$2"* ]]
}

processes() { # word
  local process count=0
  outcome=unseen
  for process in /proc/[0-9]*; do
    count=$((count + 1))
    if command_line_has "${process#/proc/}" "$1"; then
      outcome=seen detail=${process#/proc/}
      return
    fi
  done
  detail=$count
}

# Never signals a process of the sandbox that happens to have the same number.
signal() { # pid word
  local error
  if [[ -e /proc/$1 ]] && ! command_line_has "$1" "$2"; then
    outcome=taken
  elif error=$({ kill -s USR1 "$1"; } 2>&1); then
    outcome=sent
  else
    case $error in
      *'No such process'*) outcome=absent ;;
      *'not permitted'*) outcome=refused ;;
      *) outcome=failed detail=$error ;;
    esac
  fi
}

connect() { # address port word
  local error code
  # shellcheck disable=SC2016 # expanded by the inner bash
  error=$(timeout 2 bash --noprofile --norc -c 'exec 3<>"/dev/tcp/$1/$2" && printf "%s\n" "$3" >&3' bash "$1" "$2" "$3" 2>&1 </dev/null)
  code=$?
  detail=${error##*: }
  case $code:$error in
    0:*) outcome=connected detail= ;;
    124:* | 137:*) outcome=silent ;;
    *refused*) outcome=refused ;;
    *unreachable* | *'No route'* | *'not assign'*) outcome=unreachable ;;
    *) outcome=failed ;;
  esac
}

# Asks the proxy of a restricted network for a connection, and sends the word through it when there is one.
tunnel() { # port destination word
  local answer code
  # shellcheck disable=SC2016 # expanded by the inner bash
  answer=$(timeout 5 bash --noprofile --norc -c '
    exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" "$2" "$2" >&3 || exit 1
    IFS= read -r line <&3
    if [[ $line == "HTTP/1."?" 2"* ]]; then printf "%s\n" "$3" >&3; fi
    printf "%s" "$line"' bash "$1" "$2" "$3" 2>&1 </dev/null)
  code=$?
  detail=${answer##*: }
  case $code:$answer in
    0:HTTP/1.[01]' '[1-5][0-9][0-9]*) outcome=answered detail=${answer:9:3} ;;
    124:* | 137:*) outcome=silent ;;
    *refused*) outcome=refused ;;
  esac
}

# Sends a datagram that has no byte 10, at which bash would part it, and tells the answer. Both in hexadecimal.
datagram() { # address port bytes
  local at bytes= answer
  for ((at = 0; at < ${#3}; at += 2)); do bytes+="\\x${3:at:2}"; done
  answer=$({ exec 3<>"/dev/udp/$1/$2" && printf '%b' "$bytes" >&3 && timeout 2 dd bs=1024 count=1 <&3 | od -An -v -tx1; } 2>/dev/null)
  detail=${answer//[[:space:]]/}
  if [[ $detail ]]; then outcome=answered; else outcome=silent; fi
}

hash_of() { # path
  local line
  if [[ ! -e $1 ]]; then
    outcome=absent
  elif [[ ! -r $1 ]]; then
    outcome=refused
  elif line=$(sha256sum <"$1" 2>/dev/null); then
    outcome=present detail=${line%% *}
  else
    outcome=failed
  fi
}

# Makes a file in a directory and removes it again; opens a file without writing to it.
write() { # path name
  local error
  if [[ -d $1 ]]; then
    if error=$({ : >"$1/$2"; } 2>&1); then
      rm -f -- "$1/$2"
      outcome=written
    else
      outcome=refused detail=${error##*: }
    fi
  elif [[ -e $1 ]]; then
    if error=$({ : >>"$1"; } 2>&1); then outcome=written; else outcome=refused detail=${error##*: }; fi
  else
    outcome=absent
  fi
}

devices() {
  local device
  outcome=absent
  for device in /dev/* /dev/*/*; do
    if [[ -b $device || ${device##*/} == @(mem|kmem|port|kmsg) && -c $device && -r $device ]]; then outcome=present detail+="$device "; fi
  done
}

user_namespace() {
  local error
  if ! command -v unshare >/dev/null; then
    outcome=failed detail='there is no program unshare inside'
  elif error=$(unshare --user true 2>&1 </dev/null); then
    outcome=allowed
  else
    outcome=refused detail=${error##*: }
  fi
}

shopt -s extglob nullglob
tell_facts
find_places
say ready

while IFS= read -r -d '' verb && IFS= read -r -d '' id; do
  outcome=failed detail='' words=()
  case $verb in
    devices | user-namespace | end) count=0 ;;
    connect | tunnel | datagram) count=3 ;;
    signal | write) count=2 ;;
    *) count=1 ;;
  esac
  for ((; count; count--)); do
    IFS= read -r -d '' word || exit 1
    words+=("$word")
  done
  case $verb in
    look) look "${words[0]}" ;;
    processes) processes "${words[0]}" ;;
    signal) signal "${words[0]}" "${words[1]}" ;;
    connect) connect "${words[0]}" "${words[1]}" "${words[2]}" ;;
    tunnel) tunnel "${words[0]}" "${words[1]}" "${words[2]}" ;;
    datagram) datagram "${words[0]}" "${words[1]}" "${words[2]}" ;;
    hash) hash_of "${words[0]}" ;;
    write) write "${words[0]}" "${words[1]}" ;;
    socket) if [[ -S ${words[0]} ]]; then outcome=present; else outcome=absent; fi ;;
    devices) devices ;;
    user-namespace) user_namespace ;;
    place) if { : >"${words[0]}"; } 2>/dev/null; then outcome=written; else outcome=refused; fi ;;
    remove) if rm -f -- "${words[0]}" 2>/dev/null; then outcome=written; fi ;;
    end) outcome=written ;;
  esac
  say answer "$id" "$outcome" "$detail"
  [[ $verb != end ]] || exit 0
done
