# Runs on the host: becomes the program that gives one sandbox its network, when the process inside can be joined.
#
#   $1 `attach`: becomes slirp4netns. `enter`: becomes a program in the network namespace of the sandbox, which can open sockets there
#   $2 the user of the sandbox, where that is not the user of this script   $3 process group of bubblewrap
#   attach: $4 `copy`: make a device file of its own for that user   $5… slirp4netns and its options
#   enter:  $4 nsenter   $5… the program
#
# Standard input: where bubblewrap says which process is inside; for `enter` also which one is root of the user namespace above, where that is not
# the sandbox's own (`owner-pid`). Descriptor 4: NUL-ended names of the control groups' files to enter and an
# empty one; it closes when the product dies.
#
# Until it is that program it holds the end of the pipe that bubblewrap reports to, even when the product dies: bubblewrap would die of a broken
# one and leave its process inside behind. That process can be joined when its user namespace has its maps, the last thing before its mounts;
# when the product has died before that, this script ends it. If bubblewrap dies before it has named that process, the process would wait for
# its maps for ever: the script kills the process group of bubblewrap instead.

set -eu
step=$1 user=$2 group=$3 process= owner=
shift 3
become() {
  [ -z "$user" ] || exec setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all -- "$@"
  exec "$@"
}
while IFS= read -r -d '' -u 4 entrance && [ -n "$entrance" ]; do printf 0 > "$entrance"; done
if [ "$step $1" = 'attach copy' ]; then
  mount -n -t tmpfs -o mode=0755,nosuid,noexec,size=64k hermetic /dev/net
  mknod -m 0666 /dev/net/tun c 10 200
fi
while [ -z "$process" ] && IFS= read -r line; do
  [[ $line != *'"owner-pid"'* ]] || owner=${line//[!0-9]/}
  [[ $line != *'"child-pid"'* ]] || process=${line//[!0-9]/}
done
[ -n "$process" ] || become /bin/bash --norc --noprofile -p -c 'kill -KILL -- "-$1" 2>/dev/null' kill "$group"
until read -r map < "/proc/$process/gid_map"; do
  [ -e "/proc/$process" ] || exit 1
  read -r -t 0.002 -u 4 || [ $? -gt 128 ] || become /bin/bash --norc --noprofile -p -c 'kill -KILL "$1"' kill "$process"
done
[ "$step" = enter ] || become "${@:2}" "$process" tap0

# Security: the namespaces are opened first, and belong to the sandbox if the process is a child of bubblewrap after that. The number of one that
# has ended could be the number of another process by now, and the sockets of the sandbox would be opened in that one's network.
exec {namespace}< "/proc/${owner:-$process}/ns/user" {network}< "/proc/$process/ns/net"
read -r _ _ _ parent _ < "/proc/$process/stat"
if [ "$parent" != "$group" ] || [ "/proc/self/fd/$network" -ef /proc/self/ns/net ]; then
  echo 'the sandbox has ended' >&2
  exit 1
fi
# As root it stays root: another user may not be able to reach the program. Otherwise only the owner of the namespace may enter it.
[ -n "$user" ] || set -- "$1" "--user=/proc/self/fd/$namespace" --preserve-credentials "${@:2}"
exec "$1" "--net=/proc/self/fd/$network" "${@:2}"
