# Our first program inside an Apptainer container: says on standard output that the container stands, waits on standard input for
# NUL-ended variables up to an empty one, and becomes the command "${@:2}" with them. $1: the home, whose installed programs come last on the PATH
# of the image. Exits with 125 when they never come. Its limits are set from outside: an earlier command may have replaced the bash of the image.

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
while :; do
  IFS= read -r -d '' variable || exit 125
  [ -n "$variable" ] || break
  export "$variable"
done
exec -- "$@" </dev/null >/dev/null 2>&1
