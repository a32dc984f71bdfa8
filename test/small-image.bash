# Makes the directory $1, an image of a few programs of this machine and their libraries, and $2/layer.tar of it.
set -euo pipefail
mkdir -p "$1"/{usr/bin,etc,proc,dev,run,var/tmp} "$2"
mkdir -m 1777 "$1/tmp"
for name in bin lib lib64; do ln -s "usr/$name" "$1/$name"; done
for name in bash cat env id ls mkdir mkfifo rm sleep stat touch true tail setsid; do
  path=$(realpath "$(type -P "$name")")
  cp "$path" "$1/usr/bin/$name"
  ldd "$path"
done | grep -o '/[^ ]*' | sort -u | while read -r library; do
  # Where /lib is a link, libraries are named by both ways.
  inside=/usr/${library#/}
  install -D "$(realpath "$library")" "$1${inside/#\/usr\/usr/\/usr}"
done
tar -C "$1" -cf "$2/layer.tar" .
