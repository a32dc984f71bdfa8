# The first program inside a bubblewrap sandbox: reports on descriptor 5 that the sandbox stands, waits on standard input for a line with the
# limits (max processes and max kilobytes of data of a process, 0 for none), and becomes the command "$@". Exits with 125 when the line never comes.
# Security: by now `--die-with-parent` is in force, so if the program that started this died before, the line never comes and nothing runs.

printf . >&5
# Security: the product may itself have been started with open descriptors, and through one of a directory the host can be reached.
for path in /proc/self/fd/*; do
  fd=${path##*/}
  [ "$fd" -lt 3 ] || exec {fd}>&-
done
IFS=' ' read -r processes kilobytes || exit 125
[ "$processes" = 0 ] || ulimit -u "$processes" || exit 125
[ "$kilobytes" = 0 ] || ulimit -d "$kilobytes" || exit 125
exec -- "$@"
