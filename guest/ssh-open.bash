# Makes the directory of a session, or finds it, and prints the home directory, the directory, and `new` or `old`, each on a line. Stands behind
# ssh-directory.bash.
#
#   $1 where, absolute or beginning with ~/   $2 installation   $3 name
#
# Exit codes: 81 this bash is too old; 82 a program is missing, which standard error names; 83 the directory cannot be made or used.

if ((BASH_VERSINFO[0] < 5)); then
  echo "bash $BASH_VERSION" >&2
  exit 81
fi
for program in cat chmod mkdir mv readlink rm stat tail; do
  command -v "$program" >/dev/null || { echo "$program" >&2; exit 82; }
done
if [[ ${HOME-} != /* ]]; then
  echo 'HOME is not set' >&2
  exit 83
fi
find_base "$1" "$2"
directory=$base/$3 age=old
umask 077
mkdir -p -- "$base" || exit 83
if mkdir -- "$directory" 2>/dev/null; then age=new; fi
mkdir -p -- "$directory/workspace" || exit 83
for path in "$base" "$directory" "$directory/workspace"; do
  is_own_directory "$path" || { echo "$path is not a directory of this user alone" >&2; exit 83; }
done
# A command may have closed it to its own user, or opened it to others.
chmod 700 -- "$directory" && chmod u+rwx -- "$directory/workspace" || exit 83
printf '%s\n' "$HOME" "$directory" "$age"
