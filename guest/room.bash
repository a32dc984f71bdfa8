# With no room for a process bash would wait for seconds inside fork and then give up. Its names are for a shell that others share.
__hermetic_room() {
  builtin local __hermetic_group __hermetic_now=0 __hermetic_max=max
  for __hermetic_group in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    if [[ -r $__hermetic_group/pids.current ]]; then
      {
        builtin read -r __hermetic_now <"$__hermetic_group/pids.current"
        builtin read -r __hermetic_max <"$__hermetic_group/pids.max"
      } 2>/dev/null
      builtin break
    fi
  done
  [[ $__hermetic_max == max ]] || ((__hermetic_now + 4 <= __hermetic_max))
}
