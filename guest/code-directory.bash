# The empty directory in which execute_code runs a script in strict mode.
#
#   make          prints its path; only its owner may enter it
#   remove PATH   removes it, also where the script took rights away

make() {
  umask 077
  mktemp -d -t hermetic-code-XXXXXXXXXX
}
remove() {
  cd /
  chmod -R u+rwx -- "$1"
  rm -rf -- "$1"
}
"$@"
