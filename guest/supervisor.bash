# One for each stream: starts the shell on it and tells how that ended. An engine cuts the streams of a process that has gone, with what
# it has not passed on: so it stays until the host has all of the output, and as long as something does that the command started.

if ((BASH_VERSINFO[0] < 5)); then
  echo "bash $BASH_VERSION is too old: 5.0 or newer is needed" >&2
  exit 70
fi

cd /
# The words of the host, the source of the shell, and for a shell that does not wait, the messages to it.
IFS=' ' read -r mark __hermetic_nonce mode rows columns shell_length early_length
IFS= read -rN "$shell_length" shell
early=
((early_length == 0)) || LC_ALL=C IFS= read -rN "$early_length" early
exec 241>&1 242>&2

if ! __hermetic_room; then
  __hermetic_frame r F >&242
  exit 0
fi

# The tether says by a signal that the host has everything, and knows this process by its limit.
received=
trap 'received=1' USR1
if is_mark "$mark" && ulimit -x "$supervisor_digits$mark" 2>/dev/null; then __hermetic_frame r "P $$" >&242; else received=1; fi

# Nothing arrives here but what bash remarks on how its child ended: while it is empty it is also a pause that needs no process.
exec {remarks}<> <(:) 2>&"$remarks" 246<&0 </dev/null
from=0
if ((early_length)); then
  # Their writers are children of this process and not of the shell's, because `script` would take one's end for that of the other.
  exec 243< <(printf %s "$early") 244< <(printf %s 'eval "$__HERMETIC_SHELL"')
  from=243
fi
start() {
  carry "$mark"
  exec <&246 246<&- 245>&"$remarks" {remarks}>&- 2>&242
  if [[ $mode != terminal && $mode != interactive ]]; then exec 245>&-; fi
  export __HERMETIC_NONCE=$__hermetic_nonce __HERMETIC_MODE=$mode __HERMETIC_SHELL=$shell __HERMETIC_FROM=$from
  become "$mode" "$rows" "$columns" 'eval "$__HERMETIC_SHELL"' /dev/fd/244 '2>&245 245>&-'
}
# Job control gives the shell a process group of its own and leaves SIGINT alone, which a plain `&` would ignore for good. A remark
# quotes the command: in one line.
set -m
start &
shell_process=$! killed=
exec 243<&- 244<&- 246<&-
unset shell early

# Other remarks of bash than that of a killed child.
hear() { [[ $1 =~ ^\[[0-9]+\].?\ +(Done|Exit|Stopped) ]] || killed=1; }

rest() { if IFS= read -rt "$1" remark <&"$remarks"; then hear "$remark"; fi; }

await "$shell_process"
while read -rt 0 && IFS= read -r remark; do hear "$remark"; done <&"$remarks"
__hermetic_frame m S >&241
if [[ $killed ]]; then __hermetic_frame r killed >&242; fi
__hermetic_frame r "S $status" >&242

# Whether the program that started the command is still there.
has_tether() {
  local file limits
  for file in /proc/[0-9]*/limits; do
    limits=
    { IFS= read -rd '' limits <"$file"; } 2>/dev/null
    [[ $limits != *"Max file locks            $tether_number             $tether_number${mark::7} "* ]] || return 0
  done
  return 1
}
# The reader may be slow, but not for more than an hour. In this mode a signal ends a `read`.
set -o posix
alone=0 SECONDS=0
while [[ ! $received ]] && ((alone < 3 && SECONDS < 3600)); do
  read -rt 5 _ <&"$remarks"
  if has_tether; then alone=0; else ((alone += 1)); fi
done
set +o posix

pause=0.1
while members "$mark" && ((${#found[@]})); do
  read -rt "$pause" _ <&"$remarks"
  pause=5
done
