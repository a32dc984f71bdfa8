"""Runs in a sandbox: reads a JSON list of attempts to get out, makes them one after the other, and prints a JSON list of what came of each."""

import json
import socket
import ssl
import struct
import sys
import time

PROXY = ("127.0.0.1", 3128)
SECONDS = 20


def proxied(target):
    """A connection through the proxy, and the first bytes of its answer to CONNECT."""
    connection = socket.create_connection(PROXY, SECONDS)
    connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("utf-8"))
    return connection, read_head(connection)


def read_head(connection):
    """Up to the empty line; for a refusal, up to the end."""
    data = b""
    while b"\r\n\r\n" not in data or not data.startswith(b"HTTP/1.1 200"):
        more = connection.recv(65536)
        if not more:
            break
        data += more
    return data.decode("latin1")


def answer_of(text):
    status, _, rest = text.partition("\r\n")
    words = status.split(" ")
    return {"status": int(words[1]) if len(words) > 1 and words[1].isdigit() else 0, "text": rest[-600:]}


def attempt_tcp(host, port, send=None):
    connection = socket.create_connection((host, port), SECONDS)
    if send is not None:
        connection.sendall(send.encode("latin1"))
    return {"connected": True, "text": connection.recv(4096).decode("latin1") if send is not None else ""}


def attempt_udp(host, port, send="data"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.sendto(send.encode("latin1"), (host, port))
    return {"sent": True}


def attempt_icmp(host, raw):
    kind = socket.SOCK_RAW if raw else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as sender:
        sender.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", (host, 0))
    return {"sent": True}


def attempt_abstract(name):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("\0" + name)
    return {"connected": True}


def attempt_connect(target, then=None):
    connection, head = proxied(target)
    with connection:
        result = answer_of(head)
        if then is not None and result["status"] == 200:
            connection.sendall(then.encode("latin1"))
            result["then"] = connection.recv(4096).decode("latin1")
        return result


def attempt_pieces(target, pieces, direct=False):
    """Sends bytes to the target, each piece by itself. All that came back before the connection ended, or some while it stays open."""
    host, port = target.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), SECONDS) if direct else proxied(target)[0]
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece.encode("latin1"))
        data = b""
        wanted = sum(len(piece) for piece in pieces)
        while len(data) < wanted and (more := connection.recv(65536)):
            data += more
        return {"then": data.decode("latin1")}


def attempt_raw(send):
    """Any bytes for the proxy."""
    with socket.create_connection(PROXY, SECONDS) as connection:
        connection.sendall(send.encode("latin1"))
        data = b""
        while more := connection.recv(65536):
            data += more
        return answer_of(data.decode("latin1"))


def attempt_socks(host, port, command=1, kind=3):
    with socket.create_connection(PROXY, SECONDS) as connection:
        connection.sendall(b"\x05\x01\x00")
        if connection.recv(2) != b"\x05\x00":
            return {"reply": -1}
        if kind == 3:
            name = host.encode("utf-8")
            address = bytes([len(name)]) + name
        else:
            address = socket.inet_pton(socket.AF_INET if kind == 1 else socket.AF_INET6, host)
        connection.sendall(b"\x05" + bytes([command, 0, kind]) + address + struct.pack(">H", port))
        reply = connection.recv(4096)
        return {"reply": reply[1] if len(reply) > 1 else -1}


def attempt_tls(target, name, direct=False):
    """TLS to the target with this name in it, through the proxy or by the address that the target's name has inside."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    host, port = target.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), SECONDS) if direct else proxied(target)[0]
    with context.wrap_socket(connection, server_hostname=name) as secure:
        secure.sendall(f"GET /secret HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return {"connected": True, "text": secure.recv(4096).decode("latin1")}


def attempt_query(name, server="127.0.0.1", kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode("latin1") for label in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(SECONDS if server == "127.0.0.1" else 2)
        asker.connect((server, 53))
        asker.send(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", kind, 1))
        reply = asker.recv(4096)
        count = struct.unpack(">H", reply[6:8])[0]
        address = socket.inet_ntoa(reply[-4:]) if count and kind == 1 else None
        return {"code": reply[3] & 15, "answers": count, "address": address}


def attempt_crowd(count, most, send="", half=False):
    """Connections to the proxy that say this much and no more, all at once. How many stay open: waits a while until no more than `most` do."""
    crowd = []
    for _ in range(count):
        try:
            connection = socket.create_connection(PROXY, SECONDS)
            crowd.append(connection)
            connection.sendall(send.encode("latin1"))
            if half:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    deadline = time.monotonic() + SECONDS / 2
    remaining = [connection for connection in crowd if is_open(connection)]
    while len(remaining) > most and time.monotonic() < deadline:
        time.sleep(0.1)
        remaining = [connection for connection in remaining if is_open(connection)]
    for connection in crowd:
        connection.close()
    return {"open": len(remaining)}


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def attempt_names(count, below):
    """Asks for many names. How many of them got an address."""
    got = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(SECONDS)
        asker.connect(("127.0.0.1", 53))
        for index in range(count):
            labels = b"".join(bytes([len(label)]) + label.encode() for label in f"n{index}.{below}".split("."))
            asker.send(struct.pack(">6H", index & 0xFFFF, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1))
            reply = asker.recv(4096)
            got += 1 if reply[3] & 15 == 0 and reply[7] else 0
    return {"got": got}


def outcome(attempt):
    arguments = dict(attempt)
    try:
        return globals()["attempt_" + arguments.pop("try")](**arguments)
    except OSError as error:
        return {"error": type(error).__name__, "text": str(error)}


print(json.dumps([outcome(attempt) for attempt in json.load(sys.stdin)]))
