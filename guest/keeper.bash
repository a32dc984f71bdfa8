# The first process of a sandbox that is reached by streams only: ends it when no tether has been there for the length of the lease and no
# command has left a process running, or has for longer than BACKGROUND_SECONDS (0: however long).
#
#   bash -c keeper hermetic LEASE_SECONDS BACKGROUND_SECONDS

step=5
if (($1 < 20)); then step=1; fi
# The program that started the sandbox attaches soon, or is dead.
patience=60 idle=0 background=${2:-0} held=0
exec {nothing}<> <(:)
while ((idle <= patience || held && (background == 0 || idle <= background))); do
  read -rt "$step" _ <&"$nothing"
  held=0
  ((idle += step))
  for limits in /proc/[0-9]*/limits; do
    text=
    { IFS= read -rd '' text <"$limits"; } 2>/dev/null
    # Security: a command has no unlimited resident memory, and can have none.
    if [[ $text == *'Max resident set          unlimited            unlimited '*'Max file locks            70000001 '* ]]; then
      patience=$1 idle=0
    fi
    if [[ $text =~ 'Max file locks'\ +[^\ ]+\ +[0-9]{16}\  ]]; then held=1; fi
  done
done
