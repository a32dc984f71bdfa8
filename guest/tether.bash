# One for each process of the host that is attached to a sandbox by streams: signals what commands started, and notices when that
# process is gone: the input ends, or says nothing for SILENCE_SECONDS where it does not end with that process. The host writes one request a
# line to standard input.
#
#   tether BASE KEEP NAMESPACE [SILENCE_SECONDS]

base=$1 keep=$2 namespace=${3:-shared} silence=${4:+-t $4}
watch_strays "$namespace"
# By these numbers the keeper knows it, and by the limit that commands have and it has not.
ulimit -Sx "$tether_number"
ulimit -Hx "$tether_number$base"
cd /
declare -A running=()
# A closed connection must not end it before it has killed what its commands left running.
trap '' PIPE
# Its own outputs stay open: containerd ends the input of a process that closes one of them.
{ exec {nothing}<> <(:); } 2>/dev/null

# Tells a supervisor of this host that its stream is read no more. It may have ended, and its number be that of another process by now.
let_go() { # process
  words=()
  { mapfile -td '' words <"/proc/$1/cmdline"; } 2>/dev/null
  if [[ ${#words[@]} == 7 && ${words[*]:5} == "hermetic $base" ]]; then kill -TERM "$1" 2>/dev/null; fi
}

printf 'hello\n'
code=0
while read -r $silence verb a b c || { code=$?; false; }; do
  case $verb in
    started) running[$a]=1 ;; # mark
    ended) unset "running[$a]" ;; # mark
    leaves) let_go "$a" ;; # process
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
for process in /proc/[0-9]*; do
  process=${process#/proc/}
  let_go "$process"
  # Then the inputs of its streams do not end either: a supervisor is ended with what folds its streams.
  if ((code > 128)) && [[ ${words[*]:(-2)} == "hermetic $base" ]]; then kill -KILL "$process" 2>/dev/null; fi
done
