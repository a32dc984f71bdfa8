# Replaces a file by what comes on standard input, for Sandbox.writeFile: the file has the old content or all of the new one. Makes missing
# directories, follows a link, and keeps mode and owner of a file that is there.
#
#   $1 path, absolute or beginning with ./   $2 bytes to come   $3 part of the name of a temporary file   $4 umask for a new file
#
# Exit codes: 92 it is a directory; 93 it is not a regular file; 1 anything else, with the reason on standard error.

target=$1 length=$2 temporary=.hermetic-$3 mask=$4
if [[ -L $target ]]; then
  target=$(readlink -f -- "$target" && printf x) || { echo 'its link leads nowhere' >&2; exit 1; }
  target=${target%?x}
fi
if [[ -d $target || $target == */ ]]; then exit 92; fi
if [[ -e $target && ! -f $target ]]; then exit 93; fi
case $target in
  */*) directory=${target%/*}/ ;;
  *) directory=./ target=./$target ;;
esac
if [[ ! -d $directory ]]; then mkdir -p -- "$directory" || exit 1; fi
temporary=$directory$temporary
trap 'rm -f -- "$temporary"' EXIT
umask 077
cat >"$temporary" || exit 1
printf -v mode %o $((0666 & ~0$mask))
read -r size owner <<<"$(stat -c '%s %u:%g' -- "$temporary")"
# A host that died in the middle looks to `cat` like the end of the data.
[[ $size == "$length" ]] || { echo 'the data did not arrive whole' >&2; exit 1; }
if [[ -e $target ]]; then
  read -r mode wanted <<<"$(stat -c '%a %u:%g' -- "$target")"
  [[ $wanted == "$owner" ]] || chown "$wanted" -- "$temporary" 2>/dev/null
fi
chmod "$mode" -- "$temporary" || exit 1
mv -fT -- "$temporary" "$target" || exit 1
trap - EXIT
