#!/usr/bin/env bash
# Builds the image the Docker tests run in, unless it exists, and prints its tag. Needs root, debootstrap and an engine that answers.
set -euo pipefail

# Names come from the machine, so that its own package mirror is used and no registry is needed.
# shellcheck disable=SC1091
suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  awk -v suite="$suite" '$1 ~ /^(https?|file):/ && $2 == suite && $3 == "main" { print $1; exit }')
packages=bsdutils,ca-certificates,procps,python3-minimal,util-linux
recipe=$(cat "${BASH_SOURCE[0]}" && dpkg --print-architecture && printf '%s' "$suite")
tag="hermetic-test:$(sha256sum <<<"$recipe" | cut -c1-12)"

work_prefix=${TMPDIR:-/var/tmp}/hermetic-test-image
mkdir -p /run/lock
exec 9>/run/lock/hermetic-test-image
flock 9

discard() {
  # Only a debootstrap that was killed leaves these mounted.
  umount "$1/root/proc" "$1/root/sys" 2>/dev/null || true
  rm -rf --one-file-system "$1"
}

runs() {
  docker run --rm --network none "$tag" true </dev/null >/dev/null 2>&1
}

build() {
  local work=$1 root=$1/root id
  echo "test-image: building $tag (about a minute)" >&2
  # Left empty, the mirror is debootstrap's own choice.
  if ! debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    return 1
  fi
  rm -rf "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*.log \
    "$root"/usr/share/{doc,info,locale,man}/*
  printf 'path-exclude=/usr/share/%s/*\n' doc info locale man >"$root/etc/dpkg/dpkg.cfg.d/without-documentation"
  # The tag comes last: an import that was cut off leaves none behind.
  if ! id=$(tar -C "$root" --numeric-owner --exclude='./proc/*' --exclude='./sys/*' -c . | docker import --change 'CMD ["bash"]' -); then
    echo "test-image: docker import failed" >&2
    return 1
  fi
  docker tag "$id" "$tag"
}

if docker image inspect "$tag" >/dev/null 2>&1 && runs; then
  echo "$tag"
  exit
fi

shopt -s nullglob
for leftover in "$work_prefix".*; do discard "$leftover"; done
work=$(mktemp -d "$work_prefix.XXXXXX")
trap 'discard "$work"' EXIT
build "$work" >&2
runs || { echo "test-image: $tag was built but does not run" >&2 && exit 1; }
echo "$tag"
