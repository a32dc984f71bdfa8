# Prints what a background process prints, from byte $2 of $1/log on, until it has ended; then, on standard error, how long the log is and
# how it ended. Goes on until it is killed, because it cannot know when the last of it has been printed.

exec {both}<>"$1/done" {done}<"$1/done" {both}>&-
tail -c "+$(($2 + 1))" -f -- "$1/log" 2>/dev/null {done}<&- &
read -r _ <&"$done"
size=$(stat -Lc %s -- "$1/log")
how=lost
[[ ! -e $1/killed ]] || how=SIGKILL
[[ ! -e $1/exit ]] || read -r how <"$1/exit"
printf 'end %s %s\n' "${size:-0}" "$how" >&2
wait
