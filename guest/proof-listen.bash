# Listens on a free TCP port for a containment proof: prints `port NUMBER`, then `heard TEXT` for each connection, until it is killed.
# Bash cannot listen; without python3 and perl it prints `none`.

if command -v python3 >/dev/null; then
  exec python3 -Ic 'import socket, sys
server = socket.socket()
server.bind(("0.0.0.0", 0))
server.listen(8)
print("port", server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    client.settimeout(2)
    try: print("heard", client.recv(64).decode("ascii", "replace").strip(), flush=True)
    except OSError: pass
    client.close()' "$0"
elif command -v perl >/dev/null; then
  exec perl -MIO::Socket::INET -e '$| = 1;
my $server = IO::Socket::INET->new(Listen => 8, LocalAddr => "0.0.0.0") or die;
print "port ", $server->sockport, "\n";
while (my $client = $server->accept) { my $line = <$client>; print "heard ", $line // "\n"; close $client }' "$0"
fi
echo none
