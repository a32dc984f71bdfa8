# Runs on the host: becomes the program "$@", which is killed with its process group when descriptor 3 closes, as it does when the product dies.
# Its process is the first of that group. It keeps no open descriptor but the standard streams.

# Security: nor does what it starts. The product may have been started with open descriptors, and through one of a directory the host can be reached.
for path in /proc/self/fd/*; do
  fd=${path##*/}
  [ "$fd" -le 3 ] || exec {fd}>&-
done
(
  exec </dev/null >/dev/null 2>&1 {tie}<&3 3<&-
  read -r _ <&"$tie"
  # Security: it has ended when another process is the parent now, and its number may be that of another group.
  read -r _ _ _ parent _ <"/proc/$BASHPID/stat"
  [ "$parent" != $$ ] || kill -KILL -- -$$
) &
exec 3<&- "$@"
