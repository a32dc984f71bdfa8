# Runs on the host: exits with 0 when commands can run there without a sandbox, which takes bash 5 and coreutils.
((BASH_VERSINFO[0] >= 5)) && command -v mkfifo
