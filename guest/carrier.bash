# What carries the mark of a command: its limits, or, where the kernel does not let them be set (gVisor), the variable HERMETIC_COMMAND of its environment,
# which a process can clear. Stands before the scripts that look at processes.

if ulimit -Sx soft 2>/dev/null; then carrier=limits; else carrier=environment; fi

# Sets `mark_found` to what a process has in its environment.
mark_in() { # process
  local words=() word
  { mapfile -td '' words <"$1/environ"; } 2>/dev/null
  mark_found=
  for word in "${words[@]}"; do
    if [[ $word == HERMETIC_COMMAND=* ]]; then mark_found=${word#*=}; fi
  done
}
