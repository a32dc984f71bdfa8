# Hands lines over to commands that guest/piped-command.bash runs: variable NAME has the line for the process PID. Prints `+PID` when its pipe has
# taken the line, and `-PID` when there is no such pipe.
#
#   bash -c piped-input hermetic PID NAME [PID NAME...]

give() {
  # After a newline: what was cut off before has no part in it.
  if printf '\n%s\n' "${!2}" >"/proc/$1/fd/219"; then printf '+%s\n' "$1"; else printf -- '-%s\n' "$1"; fi
}

# At the same time, because one that is full holds up its writer.
while (($# > 2)); do
  give "$1" "$2" 2>/dev/null &
  shift 2
done
give "$1" "$2" 2>/dev/null
wait
