# One for each stream: starts shells on it, one after another, when the host asks, and tells how each ended. An engine cuts the streams of a
# process that has gone, with what it has not passed on: so it stays as long as the host listens, or something runs that a command started.

if ((BASH_VERSINFO[0] < 5)); then
  echo "bash $BASH_VERSION is too old: 5.0 or newer is needed" >&2
  exit 70
fi

cd /
base=$1
# Nothing arrives in `remarks` but what bash remarks on how its child ended: while it is empty it is also a pause that needs no process.
exec 241>&1 242>&2 246<&0 </dev/null {remarks}<> <(:) 2>&"$remarks"
IFS=' ' read -r key length <&246 && IFS= read -rN "$length" shell <&246 || exit 0

start() {
  carry "$mark"
  exec <&246 246<&- 245>&"$remarks" {remarks}>&- 2>&242
  if [[ $mode != terminal && $mode != interactive ]]; then exec 245>&-; fi
  export __HERMETIC_NONCE=$__hermetic_nonce __HERMETIC_MODE=$mode __HERMETIC_SHELL=$shell __HERMETIC_FROM=$from
  become "$mode" "$rows" "$columns" 'eval "$__HERMETIC_SHELL"' /dev/fd/244 '2>&245 245>&-'
}

# Other remarks of bash than that of a killed child.
hear() { [[ $1 =~ ^\[[0-9]+\].?\ +(Done|Exit|Stopped) ]] || killed=1; }

rest() { if IFS= read -rt "$1" remark <&"$remarks"; then hear "$remark"; fi; }

# Whether a tether of this host is there, which has more words than a supervisor.
is_tethered() {
  local process words
  for process in /proc/[0-9]*; do
    words=()
    { mapfile -td '' words <"$process/cmdline"; } 2>/dev/null
    if [[ ${words[5]-} == hermetic && ${words[6]-} == "$base" && ${words[7]-} ]]; then return 0; fi
  done
  return 1
}

has_ended= wait_seconds=600
# The tether says by TERM that the host reads this stream no more. What a command left running must not lose its streams: a busy one ends after that.
is_busy= is_let_go=
trap 'is_let_go=1; if [[ ! $is_busy ]]; then exit 0; fi' TERM

# Job control gives the shell a process group of its own and leaves SIGINT alone, which a plain `&` would ignore for good. A remark
# quotes the command: in one line.
set -m

# The words of the host, and for a shell that does not wait, the messages to it. Input that a command left unread does not begin with the key.
while IFS=' ' read -r said mark __hermetic_nonce mode rows columns early_length <&246 && [[ $said == "$key" ]]; do
  early= from=0 killed= is_busy=1
  if ((early_length)); then
    LC_ALL=C IFS= read -rN "$early_length" early <&246 || exit 0
    # Its command begins at once, and nothing would end it: the host was gone before this process began.
    is_tethered || exit 0
  fi
  # All that an earlier command printed is before these.
  __hermetic_frame b '' >&241
  __hermetic_frame b "$$" >&242
  if ! __hermetic_room; then
    __hermetic_frame r F >&242
    exit 0
  fi
  if ((early_length)); then
    # Their writers are children of this process and not of the shell's, because `script` would take one's end for that of the other.
    exec 243< <(printf %s "$early") 244< <(printf %s 'eval "$__HERMETIC_SHELL"')
    from=243
  fi
  start &
  exec 243<&- 244<&-
  await "$!"
  while read -rt 0 && IFS= read -r remark; do hear "$remark"; done <&"$remarks"
  __hermetic_frame m S >&241
  if [[ $killed ]]; then __hermetic_frame r killed >&242; fi
  __hermetic_frame r "S $status" >&242

  # What a command left running has these streams, and would print into the output of the next one.
  members "$mark"
  if ((${#found[@]} == 0)); then
    __hermetic_frame r C >&242
    # Only an input that has ended is there already: the host asks for nothing before it has read this.
    if read -t 0 <&246; then has_ended=1; fi
    is_busy=
    if [[ $is_let_go ]]; then exit 0; fi
    continue
  fi
  __hermetic_frame r O >&242
  pause=0.1
  while ((${#found[@]})); do
    read -rt "$pause" _ <&"$remarks"
    pause=5
    members "$mark"
  done
  exit 0
done
# The input ended with the command's, so nothing here tells when the host has all of the output. The tether does, and
# when the host is gone. One that was ended is replaced in a moment; without any the host is gone.
untethered=0
while [[ $has_ended ]] && ((wait_seconds > 0 && untethered < 2)); do
  if is_tethered; then untethered=0; else ((++untethered)); fi
  read -rt 5 _ <&"$remarks"
  ((wait_seconds -= 5))
done
