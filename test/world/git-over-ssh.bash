#!/usr/bin/env bash
# git-over-ssh.bash ROOT: the forced command of the SSH server of the tests. Serves repositories below ROOT for reading, and nothing else.
set -euo pipefail
[[ ${SSH_ORIGINAL_COMMAND:-} =~ ^git-upload-pack\ \'/?([a-z/.]+)\'$ ]] || exit 1
exec git upload-pack --strict "$1/${BASH_REMATCH[1]}"
