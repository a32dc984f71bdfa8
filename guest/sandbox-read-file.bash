# Prints a whole regular file to standard output, for Sandbox.readFile.
#
#   $1 path, absolute or beginning with ./   $2 max bytes
#
# Exit codes: 91 there is no such file; 92 it is a directory; 93 it is not a regular file; 94 it is larger than $2.

if [[ -d $1 ]]; then exit 92; fi
if [[ ! -e $1 ]]; then exit 91; fi
if [[ ! -f $1 ]]; then exit 93; fi
if [[ -n $(find -L "$1" -maxdepth 0 -size "+${2}c") ]]; then exit 94; fi
cat <"$1"
