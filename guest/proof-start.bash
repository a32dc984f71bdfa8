# Runs a script in a bash that has nothing of the session and no variable but PATH and LC_ALL, for containment proofs.
#
#   $1 script   $2 its name, by which the host finds the process
#
# Security: a function, alias, option or variable of the session or the image could otherwise answer in its place. Assigning
# POSIXLY_CORRECT makes bash take its own `exec` before any function.
POSIXLY_CORRECT=1
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
\exec /usr/bin/env -i PATH="$path" LC_ALL=C bash --noprofile --norc -c "$1" "$2"
