# How a shell's records travel inside its standard error, and a mark inside its standard output. Stands before supervisor.bash, and
# before stream.bash in the shell.
#
#   RS nonce kind length : text RS nonce .
#
# Kinds: b the beginning of a shell, on both; r a record; p a piece of the state, quoted; s its last piece, after the length of the whole; m a mark. The nonce is random, so
# that no output becomes a frame by chance, and bytes of another process that got inside one move its end, so that it is not believed.

# Printed by one write, because it has no newline, at which bash would write what it has, and fits into a buffer. Several processes
# write to the same pipe, and the kernel keeps such a write in one piece.
__hermetic_frame() { builtin printf '\036%s%s%d:%s\036%s.' "$__hermetic_nonce" "$1" "${#2}" "$2" "$__hermetic_nonce"; }
