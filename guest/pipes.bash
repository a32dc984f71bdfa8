# How a shell and the host talk where they share a directory: by the named pipes and files `$__hermetic_at.*`. Stands before shell.bash.

__hermetic_at=$__HERMETIC_AT __hermetic_run=${__HERMETIC_SHELL%/*} __hermetic_mode=$__HERMETIC_MODE __hermetic_separator='\0' __hermetic_input=0
unset BASH_ENV __HERMETIC_AT __HERMETIC_MODE __HERMETIC_SHELL __HERMETIC_BODY __HERMETIC_FILE

__hermetic_tell() { builtin printf '%s\n' "$1" 1<>"$__hermetic_at.end"; }
__hermetic_tell_state() { __hermetic_dump 1<>"$__hermetic_at.state"; }
# Parsing the file tools' scripts takes longer than reading a file. A shell for which there is no command yet is told to do it meanwhile.
__hermetic_wait() {
  while IFS=' ' builtin read -r __hermetic_go __hermetic_fields; do
    [[ $__hermetic_go == files ]] || builtin return 0
    __hermetic_define_all plain read change search
  done
  builtin return 1
}
__hermetic_fetch() {
  if [[ ${__hermetic_fields-} ]]; then
    builtin mapfile -d '' -n "$__hermetic_fields" -t __hermetic_call
  else
    builtin mapfile -d '' -t __hermetic_call <"$__hermetic_at.call"
  fi
  builtin unset -v __hermetic_go __hermetic_fields
}
__hermetic_define() { builtin . "$__hermetic_run/file-$1.bash"; }
__hermetic_restore='[[ -e $__hermetic_at.restore ]] && . "$__hermetic_at.restore"'
__hermetic_update='[[ ${__hermetic_go-} == delta ]] && \builtin . "$__hermetic_at.delta"'
