# Finds the directory in which tools keep the files of one session: logs of background processes and output that was too long.
# Stands before the scripts that use it.

own_directory() { # name of the sandbox, because several sessions may share one home; sets `own`
  own=${HOME:-/tmp}
  [[ -d $own && -w $own ]] || own=${TMPDIR:-/tmp}
  own=$own/.cache/hermetic/$1
}
