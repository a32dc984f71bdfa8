# Prints the events that the sandbox's control groups have counted: `memory LINE` and `pids LINE` for each line of their files, of
# version 2 and 1. Uses builtins only, because there may be no room for a process when these counts matter.

for group in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/pids; do
  for name in memory.events memory.oom_control pids.events; do
    [[ -r $group/$name ]] || continue
    while IFS= read -r line; do printf '%s %s\n' "${name%%.*}" "$line"; done <"$group/$name"
  done
done
