# How every command begins on a machine that is reached by ssh. The call of `begin` stands behind it, and the end of the input of this script is
# the start of that of the command.

# Tells by the mark on both streams that the login files, which may print, are done. The variables of the connection are not those of a session: they
# would be others after each reconnect.
begin() { # mark number-of-variables variables... command...
  local mark=$1 count=$2
  shift 2
  unset BASH_ENV ENV "${!SSH_@}" XDG_SESSION_ID
  export LANG="${LANG:-C.UTF-8}" "${@:1:count}"
  shift "$count"
  printf '%s\n' "$mark"
  printf '%s\n' "$mark" >&2
  exec "$@"
}
