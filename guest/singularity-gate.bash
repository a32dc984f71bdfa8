# Our first program inside an Apptainer container: says on standard output that the container stands, waits on standard input for a line with the
# limits (max processes and max kilobytes of data of a process, 0 for none) and for NUL-ended variables up to an empty one, and becomes the
# command "${@:2}" with them. $1: the home, whose installed programs come last on the PATH of the image. Exits with 125 when they never come.

# Security: the program that started this may itself have had open descriptors, and through one of a directory the host can be reached.
for path in /proc/self/fd/*; do
  fd=${path##*/}
  [ "$fd" -lt 3 ] || exec {fd}>&-
done
# Security: Apptainer puts paths of the host into some of these; the rest are settings of its own shell.
unset -v "${!APPTAINER_@}" "${!SINGULARITY_@}" PROMPT_COMMAND PS1 LD_LIBRARY_PATH SHLVL OLDPWD
export PATH=$PATH:$1/.local/bin
shift
printf 'ready\n'
IFS=' ' read -r processes kilobytes || exit 125
while :; do
  IFS= read -r -d '' variable || exit 125
  [ -n "$variable" ] || break
  export "$variable"
done
[ "$processes" = 0 ] || ulimit -u "$processes" || exit 125
[ "$kilobytes" = 0 ] || ulimit -d "$kilobytes" || exit 125
exec -- "$@" </dev/null >/dev/null 2>&1
