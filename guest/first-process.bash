# The first process of a sandbox that has no init of its own: takes in the dead whose parents are gone at once, so that they do not count as
# processes any more, and starts the keeper again when a command has killed it. TERM ends the sandbox.
#
#   bash -c first-process hermetic KEEPER LEASE_SECONDS BACKGROUND_SECONDS

trap 'exit 143' TERM
while :; do
  bash --noprofile --norc -c "$1" hermetic "${@:2}" &
  # Not `read`, in which bash takes nothing in.
  wait "$!"
  (($? > 128)) || exit 0
done 2>/dev/null
