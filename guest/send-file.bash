# Prints a regular file for the tool send_file.
#
#   $1 path, in which ~ is the home   $2 max bytes to print
#
# Exits with 1 and the reason on standard error when it is not there or not a file.

case $1 in
  '~') set -- ~ "$2" ;;
  '~/'*) set -- ~/"${1:2}" "$2" ;;
  /*) ;;
  *) set -- "./$1" "$2" ;;
esac
[[ -e $1 ]] || { echo "there is no file $1" >&2; exit 1; }
[[ -f $1 ]] || { echo "$1 is not a file" >&2; exit 1; }
exec head -c "$2" -- "$1"
