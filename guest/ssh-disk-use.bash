# Prints how many kilobytes and how many files the directory of a session has. Stands behind ssh-directory.bash.
#
#   $1 where, absolute or beginning with ~/   $2 installation   $3 name

find_base "$1" "$2"
du -sk -- "$base/$3" 2>/dev/null
du -s --inodes -- "$base/$3" 2>/dev/null
exit 0
