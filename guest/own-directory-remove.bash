# Removes the directory in which tools keep the files of the session in sandbox $1. Stands behind own-directory.bash.
own_directory "$1"
rm -rf -- "$own"
