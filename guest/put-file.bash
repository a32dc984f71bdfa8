# Puts standard input into ~/incoming as a read-only file, and prints its path.
#
#   $1 a plain file name
#
# A file with the same name and content is not written again; another file of that name makes this one `2-NAME`, `3-NAME` and so on.

umask 022
mkdir -p ~/incoming && cd ~/incoming || exit 1
draft=$(mktemp .XXXXXXXXXX) || exit 1
trap 'rm -f -- "$draft"' EXIT
cat >"$draft" && chmod 444 -- "$draft" || exit 1
name=$1 number=1
same() { [[ -f $name && ! -L $name ]] && cmp -s -- "$draft" "$name"; }
while [[ -e $name || -L $name ]] && ! same; do
  number=$((number + 1)) name=$number-$1
done
same || mv -- "$draft" "$name" || exit 1
printf '%s/%s' "$PWD" "$name"
