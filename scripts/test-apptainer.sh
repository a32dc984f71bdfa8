#!/usr/bin/env bash
# Gets the Apptainer that the tests of the singularity backend run, unless it is there, and prints the path of the program. Needs patchelf and, for
# SIF files, squashfs-tools. Debian has it in sid alone, so its packages are unpacked with the libraries they need into a directory of their own.
set -euo pipefail

# Named by the machine, so that its own package mirror is used.
# shellcheck disable=SC1091
suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  awk -v suite="$suite" '$1 ~ /^(https?|file):/ && $2 == suite && $3 == "main" { print $1; exit }')
packages=(apptainer libc6 libseccomp2 libsqlite3-0)
recipe=$(cat "${BASH_SOURCE[0]}" && dpkg --print-architecture)
place=${HERMETIC_TEST_APPTAINER_DIRECTORY:-/var/cache/hermetic-test-apptainer}/$(sha256sum <<<"$recipe" | cut -c1-12)
program=$place/usr/bin/apptainer

mkdir -p "${place%/*}"
exec 9>"${place%/*}/lock"
flock 9
if ! "$program" --version >/dev/null 2>&1; then
  echo "test-apptainer: unpacking ${packages[0]} (about 15 seconds)" >&2
  work=$(mktemp -d "$place.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/apt/{state/lists/partial,cache/archives/partial,packages} "$work/root"
  : >"$work/apt/status"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s sid main\n' "$mirror" >"$work/apt/sources.list"
  options=(-q -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State=$work/apt/state"
    -o "Dir::State::status=$work/apt/status" -o "Dir::Cache=$work/apt/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2
  (cd "$work/apt/packages" && apt-get "${options[@]}" download "${packages[@]}" >&2)
  for package in "$work"/apt/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done

  libraries=$(dirname "$(cd "$work/root" && find usr/lib -name libc.so.6)")
  loader=$(cd "$work/root" && find usr/lib64 usr/lib -name 'ld-linux-*' 2>/dev/null | head -n 1)
  for binary in usr/bin/apptainer "$libraries/apptainer/bin/starter"; do
    patchelf --set-interpreter "$place/$loader" --force-rpath --set-rpath "$place/$libraries" "$work/root/$binary"
  done
  # Apptainer finds its files by where its programs are: these two places are the settings and directories of the two.
  for base in usr usr/lib; do
    cp -a "$work/root/etc" "$work/root/$base/etc"
    mkdir -p "$work/root/$base/var/lib/apptainer/mnt/session"
  done
  chmod -R a+rX "$work/root"
  rm -rf "$place"
  mv "$work/root" "$place"
fi
"$program" --version >&2
echo "$program"
