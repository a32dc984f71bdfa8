# Runs a command whose three streams have to travel on two, where there is no channel for errors, text is all that survives, or the end of input
# does not arrive:
#
#   bash -c fold hermetic COMMAND [ARGUMENT...]
#
# Input: pieces of `LENGTH\n` and so many bytes; a length of 0 is the end. Output, a line each: `1` or `2` and a piece of that stream in base64, the
# same without anything behind it when the stream has ended, and `=CODE` when the command has.

# One line at a time: who has the byte may print.
exec 8>&1 9<> <(:)
printf x >&9

say() {
  local failed
  read -rN1 -u9 _
  printf '%s\n' "$1" >&8
  failed=$?
  printf x >&9
  ((failed == 0)) || exit 1
}

relay() {
  local piece
  # Where no one reads any more, the others still get the byte back.
  trap : PIPE
  while piece=$(dd bs=49152 count=1 status=none | base64 -w0) && [[ $piece ]]; do say "$1$piece"; done
  say "$1"
}

unpack() {
  local length
  while read -r length && ((length > 0)); do head -c "$length"; done
}

{
  {
    trap : PIPE
    exec 6< <(unpack <&7 5>&- 8>&- 9>&-)
    "$@" <&6 2>&1 >&5 5>&- 6<&- 7<&- 8>&- 9>&-
    code=$?
    # It may wait for input that no one takes.
    kill "$!" 2>/dev/null
    say "=$code"
  } | relay 2 5>&- 7<&-
} 5>&1 7<&0 </dev/null 2>/dev/null | relay 1 2>/dev/null
