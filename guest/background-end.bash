# Ends a background process and everything it started; stands behind processes.bash.
#
#   $1 directory of the process   $2 what to send first   $3 tenths of a second until KILL
#
# Prints how many are left, which is 0 unless they cannot be killed.

{ exec {nothing}<> <(:); } 2>/dev/null
mark=$(<"$1/mark")
# Security: any process inside may have written the file, and a pattern in it could match every process there is.
is_mark "$mark" || { echo 'its processes are unknown' >&2; exit 1; }
if [[ $2 != KILL ]]; then
  signal_all "$mark" "$2"
  for ((wait = 0; wait < $3; wait++)); do
    # Looking for all that is left takes a while on a busy machine, and is in vain before the first of them has ended.
    if [[ -e $1/exit ]]; then
      members "$mark"
      ((${#found[@]})) || break
    fi
    read -rt 0.1 _ <&"$nothing"
  done
fi
# A follower learns of the end at once.
: >"$1/killed"
kill_all "$mark"
members "$mark"
[[ -e $1/exit ]] || printf 'SIGKILL\n' >"$1/exit"
printf '%s\n' "${#found[@]}"
