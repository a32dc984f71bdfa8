# The first process of a sandbox that is reached by streams only: ends it when no tether has been there for the length of the lease and no
# command has left a process running, or has for longer than BACKGROUND_SECONDS (0: however long).
#
#   bash -c keeper hermetic LEASE_SECONDS BACKGROUND_SECONDS

step=5
if (($1 < 20)); then step=1; fi
# The program that started the sandbox attaches soon, or is dead.
wait_seconds=60 idle=0 background=${2:-0} held=0
exec {nothing}<> <(:)
# Without limits the tether is known by its words.
look_at_words() { # lease
  local process words
  for process in /proc/[0-9]*; do
    words=()
    { mapfile -td '' words <"$process/cmdline"; } 2>/dev/null
    if [[ ${words[5]-} == hermetic && ${words[7]-} == @(background|nothing) ]]; then wait_seconds=$1 idle=0; fi
    mark_in "$process"
    if [[ $mark_found ]]; then held=1; fi
  done
}

while ((idle <= wait_seconds || held && (background == 0 || idle <= background))); do
  read -rt "$step" _ <&"$nothing"
  held=0
  ((idle += step))
  if [[ $carrier == environment ]]; then
    look_at_words "$1"
    continue
  fi
  for limits in /proc/[0-9]*/limits; do
    text=
    { IFS= read -rd '' text <"$limits"; } 2>/dev/null
    # Security: a command has no unlimited resident memory, and can have none.
    if [[ $text == *'Max resident set          unlimited            unlimited '*'Max file locks            70000001 '* ]]; then
      wait_seconds=$1 idle=0
    fi
    if [[ $text =~ 'Max file locks'\ +[^\ ]+\ +[0-9]{16}\  ]]; then held=1; fi
  done
done
