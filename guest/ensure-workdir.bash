# Makes the directory $1 and enters it, to show that a session can start there.
mkdir -p -- "$1" && cd -- "$1"
