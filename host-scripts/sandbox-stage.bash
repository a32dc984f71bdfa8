# Runs on the host as root, in a mount namespace of its own: enters the control groups, shows the directories of one sandbox below
# /run/hermetic, where its user can reach them, becomes that user, and then bubblewrap: "$@". Starts nothing that outlives it, so the process
# stays the one that was spawned.
#
# Reads NUL-ended words from descriptor 6: the user, a table of mounts, the number of files, the files to make, and the control groups' files to enter.

set -eu
mapfile -d '' -t words <&6
exec 6<&-
user=${words[0]} table=${words[1]} files=${words[2]}
for entrance in "${words[@]:3 + files}"; do printf 0 > "$entrance"; done
umask 077
# -n keeps the paths out of /run/mount/utab, which all namespaces share.
mount -n -t tmpfs -o mode=0755,nosuid,nodev,noexec,size=1m hermetic /run/hermetic
for file in "${words[@]:3:files}"; do : > "$file"; done
printf '%s' "$table" > /run/hermetic/table
mount -n --all --fstab /run/hermetic/table
exec setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all -- "$@"
