# Tells by its exit code whether a process that any command left runs: 10 yes, 11 no. Stands behind processes.bash.
if runs_any '*'; then exit 10; else exit 11; fi
