# Runs on the host: enters the control groups whose files are named by "$@", and ends when it is told to by a line on standard input. Exits with 1
# when it cannot enter one.

for entrance; do printf 0 > "$entrance" || exit 1; done
read -r _
