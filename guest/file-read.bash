# Prints a file. Arguments: path, bytes of a small file, first line, bytes of it to skip, number of lines, bytes of a page.
# Answers: `text`, then everything. `binary SIZE`, then the beginning. `large SIZE`, then as many bytes as a small file has, then a
# line with the number of lines and, if some of it is to be skipped, the length of the first one, then the page. `missing`,
# `directory` and `special` as in file-plain.bash.

anchor "$1"
require_there
require_no_special
require_no_directory
exec 3<"$path" || exit 1
# Bash reads so much faster than it starts a program. NUL ends it, and no text has one.
if ! IFS= read -rd '' -n "$2" text <&3; then
  printf 'text\n%s' "$text"
  exit
fi
size=$(stat -Lc %s -- "$path") || exit 1
if ((${#text} < $2)); then
  printf 'binary %s\n' "$size"
  head -c 4096 <"$path"
  exit
fi
printf 'large %s\n%s' "$size" "$text"
lines=$(wc -l <"$path") || exit 1
[[ -z $(tail -c 1 <"$path" 2>/dev/null) ]] || lines=$((lines + 1))
length=0
(($4 == 0)) || length=$(tail -n "+$3" <"$path" | head -n 1 | wc -c)
printf '%d %d\n' "$lines" "$length"
tail -n "+$3" <"$path" | head -n "$5" | tail -c "+$(($4 + 1))" | head -c "$6"
exit 0
