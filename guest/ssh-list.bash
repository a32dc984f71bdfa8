# Prints the time of the last change, in seconds, and the name of each directory of a session. Stands behind ssh-directory.bash.
#
#   $1 where, absolute or beginning with ~/   $2 installation

find_base "$1" "$2"
is_own_directory "$base" || exit 0
cd -- "$base" || exit 1
shopt -s nullglob
for name in *; do stat -c '%Y %n' -- "$name"; done
