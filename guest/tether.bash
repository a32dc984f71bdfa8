# One for each process of the host that is attached to a sandbox by streams: signals what commands started, and notices when that
# process is gone. The host writes one request a line to standard input.

# By this number the keeper knows it.
ulimit -S -x 70000001
base=$1 keep=$2
cd /
declare -A running=()
exec {nothing}<> <(:) 2>/dev/null

printf 'hello\n'
while read -r verb a b c; do
  case $verb in
    started) running[$a]=1 ;; # mark
    ended) unset "running[$a]" ;; # mark
    kill) # mark signal sequence
      if [[ $b == KILL ]]; then
        kill_all "$a"
        members "$a"
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
if [[ $keep == nothing ]]; then kill_all "${base}[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]"; fi
