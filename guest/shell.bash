# Every shell sources this before a command: it restores the session, waits for the command, and reports how the session looks
# afterwards. The report goes to a pipe of its own, so output that imitates it changes nothing.
#
# Records on that pipe: R ready; T path of the terminal; E the code of a command that ran to its end; X the code the shell is about
# to exit with. The supervisor adds S, the status it waited for. The state goes to a pipe of its own as well, seven NUL-ended fields,
# before R or the record that ends the command.

# How records, states and calls travel is said in the file that stands before this one: pipes.bash or stream.bash.

__hermetic_on_exit= __hermetic_script= __hermetic_stateless=

__hermetic_dump() {
  builtin export -p
  builtin printf "$__hermetic_separator"
  builtin declare -F
  builtin printf "$__hermetic_separator"
  builtin declare -f
  builtin printf "$__hermetic_separator"
  builtin alias -p
  builtin printf "$__hermetic_separator"
  builtin printf "%s$__hermetic_separator" "$BASHOPTS"
  builtin umask -p
  builtin printf "$__hermetic_separator"
  builtin pwd
  builtin printf "$__hermetic_separator"
}

__hermetic_report() {
  [[ $__hermetic_stateless ]] || __hermetic_tell_state
  if [[ -n ${__hermetic_done-} && -z $__hermetic_on_exit ]]; then
    __hermetic_tell "E $__hermetic_done"
  elif [[ -z $__hermetic_on_exit ]]; then
    __hermetic_tell "X $1"
  fi
}

# A command's own EXIT trap must not replace ours, and must still run.
trap() {
  builtin local action signal
  if [[ $BASHPID != "$$" || $# -eq 0 || $1 == -[lp]* ]]; then
    builtin trap "$@"
    builtin return
  fi
  [[ $1 == -- ]] && builtin shift
  if (($# == 1)); then action=-; else action=$1 && builtin shift; fi
  for signal; do
    case $signal in
      EXIT | exit | 0) if [[ $action == - ]]; then __hermetic_on_exit=; else __hermetic_on_exit=${action:-:}; fi ;;
      *) builtin trap -- "$action" "$signal" || builtin return ;;
    esac
  done
}

__hermetic_change_directory() {
  builtin local wanted="$1" old="${OLDPWD-}" directory="$1"
  until builtin cd -- "$directory" 2>/dev/null; do
    [[ $directory == */* ]] || directory=/
    directory=${directory%/*}
    [[ $directory ]] || directory=/
  done
  if [[ $old ]]; then OLDPWD=$old; else builtin unset OLDPWD && builtin export OLDPWD; fi
  [[ $directory == "$wanted" ]] || builtin printf 'hermetic: %s no longer exists; continuing in %s\n' "$wanted" "$directory" >&2
}

# Makes functions of scripts of the file tools. The session's aliases must not be expanded in them.
__hermetic_define_all() { # names
  builtin local __hermetic_name __hermetic_aliases=-u
  builtin shopt -q expand_aliases && __hermetic_aliases=-s
  builtin shopt -u expand_aliases
  for __hermetic_name; do
    builtin declare -F "__hermetic_file_$__hermetic_name" >/dev/null || __hermetic_define "$__hermetic_name"
  done
  builtin shopt "$__hermetic_aliases" expand_aliases
}

# Runs a file tool: the name of its script, and its arguments.
__hermetic_file() {
  # In this mode bash takes its own `unset` before a function of the session. It also reads byte by byte, so not for long.
  POSIXLY_CORRECT=1
  \unset -f builtin
  \unset -v POSIXLY_CORRECT
  __hermetic_define_all plain "$1"
  __hermetic_file_plain
  "__hermetic_file_$1" "${@:2}"
}

__hermetic_meet() {
  __hermetic_tell R
  case $__hermetic_mode in
    warm | base) __hermetic_wait || builtin exit 0 ;;
    terminal | interactive) __hermetic_tell "T $(\builtin command tty)" ;;
  esac
}

# Fields of a call: script, session's directory, this call's directory, whether the state afterwards is not needed, number of
# variables, variables, arguments. A short one comes through standard input, where bash reads byte by byte; a long one is in a file.
__hermetic_load() {
  builtin local -a __hermetic_call
  builtin local -i __hermetic_count
  builtin local __hermetic_directory
  __hermetic_fetch
  __hermetic_script=${__hermetic_call[0]}
  __hermetic_change_directory "${__hermetic_call[1]}"
  __hermetic_directory=${__hermetic_call[2]}
  # Anchored, so that neither CDPATH nor a name like `-` means anything else.
  [[ -z $__hermetic_directory || $__hermetic_directory == /* ]] || __hermetic_directory=./$__hermetic_directory
  if [[ $__hermetic_directory ]] && ! builtin cd -- "$__hermetic_directory" 2>/dev/null; then
    builtin printf 'hermetic: no such directory: %s\n' "${__hermetic_call[2]}" >&2
    __hermetic_script='builtin exit 126'
  fi
  __hermetic_stateless=${__hermetic_call[3]}
  __hermetic_count=${__hermetic_call[4]}
  ((__hermetic_count)) && builtin export -- "${__hermetic_call[@]:5:__hermetic_count}"
  __hermetic_args=("${__hermetic_call[@]:5+__hermetic_count}")
  if [[ $__hermetic_script != '__hermetic_file "$@"' ]]; then
    builtin unset -f __hermetic_file{,_plain,_read,_change,_search} __hermetic_define{,_all}
    builtin unset -v __hermetic_files __hermetic_run
  fi
  case $__hermetic_mode in
    interactive) PS1='\[\e[1m\]\w\[\e[0m\] \$ ' ;&
    terminal | lines) [[ $__hermetic_stateless ]] || __hermetic_tell_state ;;
  esac
}

__hermetic_return() { builtin return "$1"; }

shopt -s expand_aliases
[[ $__hermetic_mode == base ]] && __hermetic_tell_state
# Once the session is restored, its aliases and functions may have the names of builtins: a backslash keeps aliases away, and
# `builtin` functions. The functions above were read before there were any aliases.
# At the top level, because what is declared in a function is gone after it.
eval "$__hermetic_restore"
__hermetic_meet
\builtin eval "$__hermetic_update"
__hermetic_load
\builtin set -- "${__hermetic_args[@]}"
\builtin unset -v __hermetic_args __hermetic_restore __hermetic_update
# Bash writes a state line by line, these functions too as long as they are there.
\builtin unset -f __hermetic_meet __hermetic_wait __hermetic_fetch __hermetic_receive __hermetic_load __hermetic_change_directory

\builtin trap '{
  __hermetic_status=$?
  \builtin trap - DEBUG ERR RETURN
  \builtin set +exuv +o posix
  __hermetic_report "$__hermetic_status"
} >/dev/null 2>&1
[[ -z $__hermetic_on_exit ]] || { __hermetic_return "$__hermetic_status"; \builtin eval -- "$__hermetic_on_exit" <&"$__hermetic_input"; }' EXIT
