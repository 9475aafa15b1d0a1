# Speaks to a worker as a run does, and names a server of its own, which asks for a password in clear
# text. Exits with 1 if it gets one.
#
#   false_run.py MAILPROOF DIALOG
#
# DIALOG is what a run said to a worker; its plan is used.
import re
import socket
import struct
import subprocess
import sys
import threading

def asks_for_a_password(listener, got):
    while True:
        client, _ = listener.accept()
        size = struct.unpack("!I", client.recv(4))[0]
        request = client.recv(size - 4)
        if struct.unpack("!I", request[:4])[0] != 3 << 16:  # TLS or GSS; no
            client.sendall(b"N")
            size = struct.unpack("!I", client.recv(4))[0]
            client.recv(size - 4)
        client.sendall(b"R" + struct.pack("!II", 8, 3))
        got.append(client.recv(1000))
        client.close()


def plan_of(dialog):
    with open(dialog, "rb") as file:
        said = file.read()
    return said[: said.index(b"\n", said.index(b"plan 0/1 ")) + 1]


def main(mailproof, dialog):
    listener = socket.create_server(("127.0.0.1", 0))
    got = []
    threading.Thread(target=asks_for_a_password, args=(listener, got), daemon=True).start()
    worker = subprocess.Popen([mailproof, "load", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(text):
        worker.stdin.write(text)
        worker.stdin.flush()

    def hear():
        return worker.stdout.readline().decode().rstrip("\n")

    hear()  # the greeting
    say(plan_of(dialog))
    answer = hear()
    if answer != "ready":
        sys.exit(f"the worker says: {answer}")
    conninfo = f"host=127.0.0.1 port={listener.getsockname()[1]} user=u dbname=d".encode()
    say(b"time\n")
    now = int(re.fullmatch(r"now (\d+)", hear()).group(1))
    say(b"run %d %d 0 5 %d\n%s" % (now, now + 3 * 10**9, len(conninfo), conninfo))
    line = hear()
    while line.startswith("so-far"):
        say(b"heard\n")
        line = hear()
    worker.kill()
    worker.wait()
    if not got:
        sys.exit("the worker never came to the server")
    if any(b"password-of-this-host" in answer for answer in got):
        sys.exit(f"the worker gave away: {got[0]!r}")


main(*sys.argv[1:])
