# The side of execute_code that runs in bash: tools are functions. Stands before the script, in the same shell.
#
# A frame, in both directions: a line of lengths in bytes, then so many bytes each. From the host first the script, the functions and
# how many bytes of arguments a call may have; then answers: id, `ok` or how it failed, text. To the host: `call`, id, tool, and names
# and values of the arguments.

# A lock: the process that reads the one byte from here may call. Several processes of a script share the way to the host.
exec 237<> <(:)
builtin printf x >&237

__hermetic_receive() {
  builtin local LC_ALL=C IFS=' ' length text
  builtin local -a lengths
  builtin read -ru 238 -a lengths || builtin return
  __hermetic_frame=()
  for length in "${lengths[@]}"; do
    text=
    ((length == 0)) || IFS= builtin read -ru 238 -N "$length" text || builtin return
    __hermetic_frame+=("$text")
  done
}

__hermetic_send() {
  builtin local LC_ALL=C field header=
  for field; do header+=" ${#field}"; done
  builtin printf %s "${header# }"$'\n' "$@" >&239
}

__hermetic_fits() {
  builtin local LC_ALL=C IFS= all
  all=$*
  ((${#all} <= __hermetic_max))
}

# tool, its parameters, the one that standard input stands for, and the arguments of the call: values in the order of the parameters,
# `--name value`, `--name=value`; after `--` only values.
__hermetic_call() {
  # In bytes, and without removing patterns from what may be long: for that bash takes a time that grows with the square of the length.
  builtin local LC_ALL=C IFS=' ' tool=$1 piped=$3 start name value id only=
  builtin local -a names __hermetic_frame
  builtin local -A given
  # shellcheck disable=SC2206 # names have no spaces
  names=($2) __hermetic_frame=() given=()
  builtin shift 3
  while (($#)); do
    name=
    if [[ $only ]]; then
      :
    elif [[ $1 == -- ]]; then
      only=1
      builtin shift
      continue
    elif [[ $1 == --* ]]; then
      start=${1:2:100}
      start=${start%%=*}
      name=${start//-/_}
      if [[ " ${names[*]} " != *" $name "* ]]; then
        builtin printf '%s: there is no --%s; there are: %s\n' "$tool" "$name" "${names[*]}" >&2
        builtin return 2
      elif [[ ${1:2+${#start}:1} == = ]]; then
        given[$name]=${1:3+${#start}}
        builtin shift
        continue
      elif (($# == 1)); then
        builtin printf '%s: --%s needs a value\n' "$tool" "$name" >&2
        builtin return 2
      fi
      builtin shift
    fi
    if [[ ! $name ]]; then
      for name in "${names[@]}" ''; do [[ ! $name || ! -v given[$name] ]] && builtin break; done
      if [[ ! $name ]]; then
        builtin printf '%s: too many arguments; there are: %s\n' "$tool" "${names[*]}" >&2
        builtin return 2
      fi
    fi
    given[$name]=$1
    builtin shift
  done
  if [[ $piped && ! -v given[$piped] ]]; then
    if IFS= builtin read -rd '' value; then
      builtin printf '%s: standard input has a NUL byte\n' "$tool" >&2
      builtin return 2
    fi
    given[$piped]=$value
  fi
  id=$BASHPID$RANDOM
  builtin set --
  for name in "${!given[@]}"; do builtin set -- "$@" "$name" "${given[$name]}"; done
  if ! __hermetic_fits "$@"; then
    builtin printf '%s: too long; at most %d bytes\n' "$tool" "$__hermetic_max" >&2
    builtin return 2
  fi
  builtin read -ru 237 -N 1 _
  __hermetic_send call "$id" "$tool" "$@"
  # The answer to a process that died meanwhile stands before ours.
  while __hermetic_receive && [[ ${__hermetic_frame[0]} != "$id" ]]; do :; done
  builtin printf x >&237
  if [[ ${__hermetic_frame[0]-} == "$id" && ${__hermetic_frame[1]} == ok ]]; then
    value=${__hermetic_frame[2]}
    if [[ ${value: -1} == $'\n' ]]; then value=${value::${#value}-1}; fi
    [[ -z $value ]] || builtin printf '%s\n' "$value"
  else
    builtin printf '%s: %s\n' "$tool" "${__hermetic_frame[2]-the host no longer answers}" >&2
    builtin return 1
  fi
}

__hermetic_receive || builtin exit 1
__hermetic_code=${__hermetic_frame[0]} __hermetic_max=${__hermetic_frame[2]}
builtin eval "${__hermetic_frame[1]}"
builtin unset -v __hermetic_frame
