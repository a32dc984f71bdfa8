# What every shell sources before a command: it restores the session, waits for the command, and reports how the session looks
# afterwards. The report goes to a pipe of its own, so output that imitates it changes nothing.
#
# Records on that pipe: R ready; T path of the terminal; D the state, seven NUL-ended fields; E the code of a command that ran to
# its end; X the code the shell is about to exit with. The supervisor adds S, the status it waited for.

__hermetic_at=${2:-$__HERMETIC_AT} __hermetic_mode=${3:-$__HERMETIC_MODE} __hermetic_on_exit= __hermetic_script=
unset BASH_ENV __HERMETIC_AT __HERMETIC_MODE __HERMETIC_SHELL

__hermetic_dump() {
  builtin printf 'D\n'
  builtin export -p
  builtin printf '\0'
  builtin declare -F
  builtin printf '\0'
  builtin declare -f
  builtin printf '\0'
  builtin alias -p
  builtin printf '\0'
  builtin shopt -p
  builtin printf '\0'
  builtin umask -p
  builtin printf '\0'
  builtin pwd
  builtin printf '\0'
}

__hermetic_report() {
  __hermetic_dump
  if [[ -n ${__hermetic_done-} && -z $__hermetic_on_exit ]]; then
    builtin printf 'E %d\n' "$__hermetic_done"
  elif [[ -z $__hermetic_on_exit ]]; then
    builtin printf 'X %d\n' "$1"
  fi
}

# A command's own EXIT trap must not replace ours, and must still run.
trap() {
  local action signal
  if [[ $BASHPID != "$$" || $# -eq 0 || $1 == -[lp]* ]]; then
    builtin trap "$@"
    return
  fi
  [[ $1 == -- ]] && shift
  if (($# == 1)); then action=-; else action=$1 && shift; fi
  for signal; do
    case $signal in
      EXIT | exit | 0) if [[ $action == - ]]; then __hermetic_on_exit=; else __hermetic_on_exit=${action:-:}; fi ;;
      *) builtin trap -- "$action" "$signal" || return ;;
    esac
  done
}

__hermetic_change_directory() {
  local wanted=$1 old=${OLDPWD-} directory=$1
  until builtin cd -- "$directory" 2>/dev/null; do
    directory=${directory%/*}
    [[ $directory ]] || directory=/
  done
  if [[ $old ]]; then OLDPWD=$old; else unset OLDPWD && export OLDPWD; fi
  [[ $directory == "$wanted" ]] || builtin printf 'hermetic: %s no longer exists; continuing in %s\n' "$wanted" "$directory" >&2
}

# Fields of a call: script, session's directory, this call's directory, number of variables, variables, arguments.
__hermetic_load() {
  local -a call
  local -i count
  builtin mapfile -d '' -t call <"$__hermetic_at.call"
  __hermetic_script=${call[0]}
  __hermetic_change_directory "${call[1]}"
  if [[ ${call[2]} ]] && ! builtin cd -- "${call[2]}" 2>/dev/null; then
    builtin printf 'hermetic: no such directory: %s\n' "${call[2]}" >&2
    __hermetic_script='builtin exit 126'
  fi
  count=${call[3]}
  ((count)) && export -- "${call[@]:4:count}"
  __hermetic_args=("${call[@]:4+count}")
}

__hermetic_return() { return "$1"; }
__hermetic_completed() { __hermetic_done=$1 && return "$1"; }

shopt -s expand_aliases
if [[ $__hermetic_mode == base ]]; then __hermetic_dump 1<>"$__hermetic_at.end"; fi
if [[ -e $__hermetic_at.state ]]; then . "$__hermetic_at.state"; fi
case $__hermetic_mode in
  warm | base)
    printf 'R\n' 1<>"$__hermetic_at.end"
    IFS= read -r __hermetic_go || builtin exit 0
    if [[ $__hermetic_go == delta ]]; then . "$__hermetic_at.delta"; fi
    __hermetic_load
    ;;
  *)
    printf 'R\n' 1<>"$__hermetic_at.end"
    if [[ $__hermetic_mode != lines ]]; then printf 'T %s\n' "$(tty)" 1<>"$__hermetic_at.end"; fi
    if [[ $__hermetic_mode == interactive ]]; then PS1='\[\e[1m\]\w\[\e[0m\] \$ '; fi
    __hermetic_load
    __hermetic_dump 1<>"$__hermetic_at.end"
    ;;
esac
set -- "${__hermetic_args[@]}"
unset -v __hermetic_args __hermetic_go

builtin trap '{
  __hermetic_status=$?
  builtin trap - DEBUG ERR RETURN
  builtin set +exuv
  __hermetic_report "$__hermetic_status" 1<>"$__hermetic_at.end"
} 2>/dev/null
if [[ $__hermetic_on_exit ]]; then
  __hermetic_return "$__hermetic_status"
  eval "$__hermetic_on_exit"
fi' EXIT
