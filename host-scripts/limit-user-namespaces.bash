# Runs on the host as the root of a user namespace of its own: becomes the program "${@:2}" there, below which only $1 user namespaces can be made.
# Security: in the last of them none can be made any more, and with it none of the capabilities that most ways into the kernel need.

echo "$1" >/proc/sys/user/max_user_namespaces || exit 1
exec "${@:2}"
