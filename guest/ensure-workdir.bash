# Makes the directory $1 and enters it, to show that a session can start there. Why it fails is on stdout: stderr has the notices of the shell itself.
exec 2>&1
mkdir -p -- "$1" && cd -- "$1"
