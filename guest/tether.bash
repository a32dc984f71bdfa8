# One for each process of the host that is attached to a sandbox by streams: signals what commands started, and notices when that
# process is gone. The host writes one request a line to standard input.

base=$1 keep=$2 namespace=${3:-shared}
watch_strays "$namespace"
# By these numbers the keeper and its supervisors know it, and by the limit that commands have and it has not.
ulimit -Sx "$tether_number"
ulimit -Hx "$tether_number$base"
cd /
declare -A running=()
{ exec {nothing}<> <(:); } 2>/dev/null

printf 'hello\n'
while read -r verb a b c; do
  case $verb in
    started) running[$a]=1 ;; # mark
    ended) unset "running[$a]" ;; # mark
    received) # mark supervisor
      limits=
      { IFS= read -rd '' limits <"/proc/$b/limits"; } 2>/dev/null
      # Security: the number is told from inside, and may be that of any process.
      if [[ $limits == *"Max file locks            "????????????????????" $supervisor_digits$a "* ]]; then kill -s USR1 "$b"; fi
      ;;
    kill) # mark-or-all signal sequence
      if [[ $a == all ]]; then
        if [[ $namespace == own ]]; then a=$every; else a=$base$any; fi
      fi
      if [[ $b == KILL ]]; then
        kill_all "$a"
      else
        signal_all "$a" "$b"
      fi
      printf 'killed %s %d\n' "$c" "${#found[@]}"
      ;;
    live) # mark-of-the-waiting-shell sequence
      if [[ $keep == nothing ]]; then pattern="$base*"; else pattern='*'; fi
      if runs_any "$pattern" "$a"; then a=1; else a=0; fi
      printf 'live %s %d\n' "$b" "$a"
      ;;
  esac
done
for mark in "${!running[@]}"; do kill_all "$mark"; done
if [[ $keep == nothing ]]; then kill_all "$base$any"; fi
