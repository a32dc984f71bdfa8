# Runs a command where commands have no input: other commands hand its input over, in lines, through a pipe of this process (guest/piped-input.bash).
#
#   KEY=... SILENCE=SECONDS WORDS='COMMAND [ARGUMENT...]' bash -c piped-command hermetic
#
# In variables with __HERMETIC_ before these names, because who pays for the sandbox is shown arguments for ever. Says `KEY PID` first. A line is
# `KEY NUMBER LENGTH DATA`, in base64, and `KEY NUMBER LENGTH <FILE` for a file to take it from; number 0 only says that the writer lives. The input
# ends with a number of -1. After so many seconds without a line, and when a line is missing or cannot be passed on, nothing more comes and it does not end, so
# that no command takes a part of its input for the whole. A line that comes again counts once.

key=$__HERMETIC_KEY silence=$__HERMETIC_SILENCE
eval "set -- $__HERMETIC_WORDS"
unset __HERMETIC_KEY __HERMETIC_SILENCE __HERMETIC_WORDS

lines() {
  local next=1 said number length data
  while read -rt "$silence" said number length data; do
    if [[ $said != "$key" ]] || ((number == 0 || number > 0 && number < next)); then continue; fi
    # The rest of what was cut off, or of what two wrote at once.
    if [[ ${#data} != "$length" ]]; then continue; fi
    if ((number < 0)); then return 0; fi
    if ((number != next)); then break; fi
    if [[ $data == '<'* ]]; then
      cat -- "${data#<}" || break
      rm -f -- "${data#<}"
    else
      base64 -d <<<"$data" || break
    fi
    ((next += 1))
  done
  return 1
}

exec 219<> <(:)
exec 218< <(exec 2>/dev/null; lines <&219 || exec sleep infinity)
printf '%s %s\n' "$key" "$$"
"$@" <&218 218<&- 219>&-
code=$?
kill "$!" 2>/dev/null
exit "$code"
