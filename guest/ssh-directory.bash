# The directories of sessions on a machine that is reached by ssh. Stands before the scripts that use them.

# Sets `base`, which has all directories of one installation.
find_base() { # where: absolute or beginning with ~/, installation
  base=$1
  [[ $base != '~' && $base != '~/'* ]] || base=$HOME${base:1}
  base=$base/$2
}

# Security: a directory, not a link to one, that belongs to this user.
is_own_directory() { [[ -d $1 && ! -L $1 && -O $1 ]]; }
