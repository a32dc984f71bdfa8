# Prints a file. Arguments: path, bytes of a small file, first line, bytes of it to skip, number of lines, bytes of a page.
# Answers: `text`, then everything. `binary SIZE`, then the beginning. `large SIZE`, then as many bytes as a small file has, then a
# line with the number of lines and, if some of it is to be skipped, the length of the first one, then the page. `missing`,
# `directory` and `special` as in file-plain.bash.

anchor "$1"
require_there
require_no_special
require_no_directory

print_large() {
  local size lines length=0
  size=$(stat -Lc %s -- "$path") || exit 1
  if ((${#text} < $1)); then
    printf 'binary %s\n' "$size"
    head -c 4096 <"$path"
    return
  fi
  printf 'large %s\n%s' "$size" "$text"
  lines=$(wc -l <"$path") || exit 1
  (($(tail -c 1 <"$path" | wc -l))) || lines=$((lines + 1))
  (($3 == 0)) || length=$(tail -n "+$2" <"$path" | head -n 1 | wc -c)
  printf '%d %d\n' "$lines" "$length"
  tail -n "+$2" <"$path" | head -n "$4" | tail -c "+$(($3 + 1))" | head -c "$5"
  return 0
}

# Bash reads so much faster than it starts a program; and it does not end by `exit`, which takes longer than coming to its end. NUL ends
# what is read, and no text has one.
if IFS= read -rd '' -n "$2" text <"$path"; then
  print_large "${@:2}"
else
  printf 'text\n%s' "$text"
fi
