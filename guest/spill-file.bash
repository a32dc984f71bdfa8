# Writes standard input to a new file of the session's own directory, and first prints its path. Stands behind own-directory.bash.
#
#   $1 name of the sandbox   $2 name of the file, 12 hexadecimal digits and .txt   $3 max files, this one included: the oldest go

own_directory "$1"
own=$own/output
umask 077
mkdir -p -- "$own" && cd -- "$own" || exit 1
# shellcheck disable=SC2012
ls -1t | grep -xE '[0-9a-f]{12}\.txt' | tail -n "+$3" | while IFS= read -r old; do rm -f -- "./$old"; done
printf '%s\n' "$own/$2"
exec cat >"$2"
