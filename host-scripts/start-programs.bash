# Runs on the host: starts programs for a process with much memory, whose page tables the kernel would copy at each start. Standard input has, each
# followed by NUL, the directory, the number of words and the words of a program. Its standard output is ours, followed by NUL, its exit code and a
# newline. One after the other, until standard input ends.

while IFS= read -rd '' directory && IFS= read -rd '' count; do
  words=()
  while ((${#words[@]} < count)); do
    IFS= read -rd '' word || exit
    words+=("$word")
  done
  (cd -- "$directory" && exec "${words[@]}") </dev/null 2>/dev/null
  printf '\0%d\n' "$?"
done
