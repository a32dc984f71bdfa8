# Prints the time of the last change, in seconds, whether it is empty or has files, and the name of each directory of a session. Doubt counts as
# files. Stands behind ssh-directory.bash.
#
#   $1 where, absolute or beginning with ~/   $2 installation

find_base "$1" "$2"
is_own_directory "$base" || exit 0
cd -- "$base" || exit 1
shopt -s nullglob dotglob
for name in *; do
  content=empty
  # A directory that cannot be read looks empty.
  for directory in "$name" "$name/workspace"; do
    if [[ -e $directory && ! (-r $directory && -x $directory) ]]; then content=files; fi
  done
  for path in "$name"/* "$name"/workspace/*; do
    if [[ $path != "$name/workspace" ]]; then content=files; fi
  done
  stat -c "%Y $content %n" -- "$name"
done
