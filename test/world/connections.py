"""Runs in a sandbox, with connections to kept.test, which is allowed, to other.test, which is denied, and to waits.test, which people are asked about.

connections.py check ROUND: prints ROUND and what the proxy and the names of the sandbox lead to.
connections.py hold ROUND: opens connections of every kind, sends ROUND through one of them, and keeps them all until the file `round` beside this
one names another round."""

import pathlib
import random
import socket
import sys
import threading
import time

PROXY = ("127.0.0.1", 3128)
PORT = 5432
SECONDS = 20


def ask_proxy(host):
    connection = socket.create_connection(PROXY, SECONDS)
    connection.sendall(f"CONNECT {host}:{PORT} HTTP/1.1\r\nHost: {host}:{PORT}\r\n\r\n".encode())
    return connection, connection.recv(4096).decode().split(" ")[1]


def ask_by_name(host, text):
    """What comes back from a host that echoes."""
    try:
        with socket.create_connection((host, PORT), SECONDS) as connection:
            connection.sendall(text.encode())
            return connection.recv(4096).decode() or "cut"
    except OSError:
        return "cut"


def check(mark):
    answers = [ask_proxy("kept.test")[1], ask_by_name("kept.test", "echo"), ask_proxy("other.test")[1], ask_by_name("other.test", "echo")]
    print(mark, "checked:", *answers)


def download():
    connection = socket.create_connection(PROXY, SECONDS)
    connection.sendall(b"GET http://kept.test/megabytes/1000000 HTTP/1.1\r\nHost: kept.test\r\n\r\n")
    while connection.recv(1 << 16):
        time.sleep(0.01)


def wait_for_answer(mark):
    connection = socket.create_connection(("waits.test", PORT))
    connection.sendall(mark.encode())
    connection.recv(4096)


def hold(mark):
    threading.Thread(target=download, daemon=True).start()
    threading.Thread(target=wait_for_answer, args=(mark,), daemon=True).start()
    tunnel, _ = ask_proxy("kept.test")
    connection = socket.create_connection(("kept.test", PORT), SECONDS)
    connection.sendall(mark.encode())
    place = pathlib.Path(__file__).with_name("round")
    while place.read_text() == mark:
        ask_by_name("other.test", mark)
        socket.gethostbyname(f"n{random.randrange(10**9)}.kept.test")
        time.sleep(0.02)


{"check": check, "hold": hold}[sys.argv[1]](sys.argv[2])
