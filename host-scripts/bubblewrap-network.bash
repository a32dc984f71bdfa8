# Runs on the host: becomes slirp4netns, the network of one sandbox, when the process inside can be joined.
#
#   $1 user to become, or nothing   $2 `copy`: make a device file of its own for that user   $3 process group of bubblewrap   $4… slirp4netns and its options
#
# Standard input: where bubblewrap says which process is inside. Descriptor 4: NUL-ended names of the control groups' files to enter and an
# empty one; it closes when the product dies.
#
# Until it is slirp4netns it holds the end of the pipe that bubblewrap reports to, even when the product dies: bubblewrap would die of a broken
# one and leave its process inside behind. That process can be joined when its user namespace has its maps, the last thing before its mounts;
# when the product has died before that, this script ends it. If bubblewrap dies before it has named that process, the process would wait for
# its maps for ever: the script kills the process group of bubblewrap instead.

set -eu
user=$1 copy=$2 group=$3 process=
shift 3
become() {
  [ -z "$user" ] || exec setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all -- "$@"
  exec "$@"
}
while IFS= read -r -d '' -u 4 entrance && [ -n "$entrance" ]; do printf 0 > "$entrance"; done
if [ -n "$copy" ]; then
  mount -n -t tmpfs -o mode=0755,nosuid,noexec,size=64k hermetic /dev/net
  mknod -m 0666 /dev/net/tun c 10 200
fi
while [ -z "$process" ] && IFS= read -r line; do
  [[ $line != *'"child-pid"'* ]] || process=${line//[!0-9]/}
done
[ -n "$process" ] || become /bin/bash --norc --noprofile -p -c 'kill -KILL -- "-$1" 2>/dev/null' kill "$group"
until read -r map < "/proc/$process/gid_map"; do
  read -r -t 0.002 -u 4 || [ $? -gt 128 ] || become /bin/bash --norc --noprofile -p -c 'kill -KILL "$1"' kill "$process"
done
become "$@" "$process" tap0
