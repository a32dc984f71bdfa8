# How a script starts: finds its interpreter and becomes it, with the environment a script may see.
#
#   LANGUAGE MODE HARNESS CREDENTIALS     # CREDENTIALS: a regular expression of names
#
# 238 and 239 are the way to the host and belong to the harness. What the script itself prints, to either stream, is this command's
# standard error. Nothing is read from 238 here. When there is no interpreter, that is told in a frame, as code.bash describes them.
# Every line is read when those before it have run: the first keeps the session's aliases away.
\builtin shopt -u expand_aliases
# `builtin exec` would undo its redirections.
builtin unset -f exec
exec 238<&0 239>&1 </dev/null >&2
__hermetic_language=$1 __hermetic_mode=$2 __hermetic_harness=$3 __hermetic_credentials=$4
__hermetic_without=(-u BASH_ENV) __hermetic_found=() __hermetic_names=()

# Names that bash has no variable for can only have been there when it started.
builtin mapfile -d '' -t __hermetic_names </proc/self/environ
builtin shopt -s nocasematch
IFS=$'\n'
# shellcheck disable=SC2207 # names have no spaces
__hermetic_names=("${__hermetic_names[@]%%=*}" $(builtin compgen -e))
for __hermetic_name in "${__hermetic_names[@]}"; do
  # Security: by `env`, because what is read-only cannot be unset, and what a shell unsets can still be read in /proc.
  if [[ $__hermetic_name =~ $__hermetic_credentials ]]; then __hermetic_without+=(-u "$__hermetic_name"); fi
done

case $__hermetic_language in
  python)
    if [[ $__hermetic_mode == project ]]; then
      for __hermetic_name in "${VIRTUAL_ENV-}" "${CONDA_PREFIX-}"; do
        if [[ $__hermetic_name && -x $__hermetic_name/bin/python ]]; then __hermetic_found+=("$__hermetic_name/bin/python"); fi
      done
    fi
    for __hermetic_name in python3 python python3.{20..8}; do
      if builtin type -P "$__hermetic_name" >/dev/null; then __hermetic_found+=("$__hermetic_name"); fi
    done
    # One that is too old becomes the next. Understood by every Python there has been.
    __hermetic_boot='import os, sys
me, harness, others = sys.argv[1], sys.argv[2], sys.argv[3:]
if sys.version_info >= (3, 8):
    exec(compile(harness, "<hermetic>", "exec"))
elif others:
    os.execvp(others[0], [others[0], "-c", me, me, harness] + others[1:])
else:
    version = "%s is Python %d.%d" % (sys.executable, sys.version_info[0], sys.version_info[1])
    os.write(239, ("7 %d\nmissing%s" % (len(version), version)).encode())'
    __hermetic_start=("${__hermetic_found[0]}" -c "$__hermetic_boot" "$__hermetic_boot" "$__hermetic_harness" "${__hermetic_found[@]:1}")
    ;;
  javascript)
    for __hermetic_name in node nodejs; do
      if builtin type -P "$__hermetic_name" >/dev/null; then __hermetic_found+=("$__hermetic_name"); fi
    done
    __hermetic_start=("${__hermetic_found[0]}" --no-warnings --experimental-vm-modules --input-type=module -e "$__hermetic_harness")
    ;;
  bash)
    __hermetic_found=("$BASH")
    # On one line, so that the lines of the script have the numbers they had.
    # shellcheck disable=SC2016 # expanded there
    __hermetic_boot='builtin eval "$1"; builtin set --; builtin eval -- "$__hermetic_code"'
    __hermetic_start=("$BASH" --noprofile --norc -c "$__hermetic_boot" script.bash "$__hermetic_harness")
    ;;
esac
if ((${#__hermetic_found[@]} == 0)); then
  builtin printf '7 0\nmissing' >&239
  builtin exit 127
fi
builtin exec env "${__hermetic_without[@]}" "${__hermetic_start[@]}"
