# How a shell and the host talk where they share nothing but three streams. Stands before shell.bash. The host sends messages: a line
# of lengths, then so many bytes each. 241 and 242 are the streams' ends, also when the command redirects its own output.

exec 247</dev/null
__hermetic_nonce=$__HERMETIC_NONCE __hermetic_mode=$__HERMETIC_MODE __hermetic_from=$__HERMETIC_FROM __hermetic_separator=$__HERMETIC_NONCE
__hermetic_input=0
unset BASH_ENV __HERMETIC_NONCE __HERMETIC_MODE __HERMETIC_FROM __HERMETIC_SHELL __HERMETIC_BODY __HERMETIC_FILE

# Output written before a mark arrives before it; the order between the two streams is undefined.
__hermetic_tell() {
  [[ $1 == [EX]* ]] && __hermetic_frame m "${1%% *}" >&241
  __hermetic_frame r "$1" >&242
}

__hermetic_tell_state() {
  builtin local LC_ALL=C __hermetic_text __hermetic_part
  builtin local -i __hermetic_length __hermetic_i
  # Where bash would wait long for a process, the end of the command is told without its state.
  __hermetic_room || builtin return 0
  # Of our own functions only the one that runs there. Bash reads this again each time, when there may be aliases.
  __hermetic_text=$(
    \builtin unset -f trap __hermetic_report __hermetic_tell __hermetic_tell_state __hermetic_frame __hermetic_room __hermetic_return
    # It is of this command, and not of the session; see `carry`.
    \builtin ulimit -Sx soft 2>/dev/null || \builtin unset -v HERMETIC_COMMAND
    __hermetic_dump
  )
  # Quoted, it has no newlines.
  __hermetic_text=${__hermetic_text@Q}
  __hermetic_length=${#__hermetic_text}
  # Cut in two steps, because a short text is cut faster.
  while ((${#__hermetic_text} > 3900)); do
    __hermetic_part=${__hermetic_text::39000} __hermetic_text=${__hermetic_text:39000}
    for ((__hermetic_i = 0; __hermetic_i < ${#__hermetic_part}; __hermetic_i += 3900)); do
      __hermetic_frame p "${__hermetic_part:__hermetic_i:3900}"
    done
  done >&242
  __hermetic_frame s "$__hermetic_length:$__hermetic_text" >&242
}

# Reads one message into __hermetic_message.
__hermetic_receive() {
  builtin local LC_ALL=C IFS=' ' __hermetic_length __hermetic_text
  builtin local -a __hermetic_lengths
  builtin read -ru "$__hermetic_from" -a __hermetic_lengths || builtin return
  __hermetic_message=()
  for __hermetic_length in "${__hermetic_lengths[@]}"; do
    __hermetic_text=
    # A read by length takes what it needs and no more, in large pieces.
    ((__hermetic_length == 0)) || IFS= builtin read -ru "$__hermetic_from" -N "$__hermetic_length" __hermetic_text || builtin return
    __hermetic_message+=("$__hermetic_text")
  done
}

# Without a message from its host, which is gone, the supervisor need not stay for it either.
__hermetic_wait() { __hermetic_receive || { builtin kill -s TERM "$PPID"; builtin return 1; }; }
# A command without input has none of the stream's, which the next shell on it reads.
__hermetic_fetch() {
  [[ $__hermetic_from == 0 ]] || __hermetic_receive
  __hermetic_call=("${__hermetic_message[@]:2}")
  [[ $__hermetic_from != 0 || ${__hermetic_message[1]} != empty ]] || __hermetic_input=247
}
__hermetic_define() { builtin eval "$__hermetic_files"; }
__hermetic_restore='__hermetic_wait || \builtin exit 0; \builtin eval "${__hermetic_message[0]}"'
__hermetic_update='[[ $__hermetic_from != 0 ]] || \builtin eval "${__hermetic_message[0]}"'
