# Removes the directory of a session, also what its commands made unreadable. Stands behind ssh-directory.bash.
#
#   $1 where, absolute or beginning with ~/   $2 installation   $3 name

find_base "$1" "$2"
is_own_directory "$base" || exit 0
for try in 1 2 3 4 5; do
  if rm -rf -- "$base/$3" 2>/dev/null; then
    rmdir -- "$base" 2>/dev/null
    exit 0
  fi
  chmod -R u+rwX -- "$base/$3" 2>/dev/null
  # A process that was killed may have been writing.
  sleep "0.$try"
done
rm -rf -- "$base/$3"
