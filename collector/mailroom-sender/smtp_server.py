"""A mail server for tests: Debian's aiosmtpd, with a mailbox in a folder.

    python3 smtp_server.py FOLDER [CERTIFICATE KEY]

It listens on a free port of 127.0.0.1, which it writes to FOLDER/port, and keeps
each mail as FOLDER/mails/N.eml. With a certificate it insists on STARTTLS. An
address decides what happens to its mail: full@ is refused with 452, nobody@ with
550, spam@ with 554 after its data, busy@ with 454. While FOLDER/mend exists, only
spam@ is refused. FOLDER/kill holds the number of a process to kill: a mail to
killer@ kills it before the mail's data come, and one to killer-after@ when the
mail is kept and 250 is not said yet; each does so once.
"""
import asyncio
import os
import pathlib
import signal
import ssl
import sys

from aiosmtpd.smtp import SMTP

folder = pathlib.Path(sys.argv[1])
connections = 0
refusals = {
    "full": "452 4.2.2 mailbox full",
    "nobody": "550 5.1.1 no such user",
    "busy": "454 4.7.0 too many mails, come back later",
}
killed = set()


def kill_sender(name):
    if name not in killed:
        killed.add(name)
        os.kill(int((folder / "kill").read_text()), signal.SIGKILL)


class Mailbox:
    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        global connections
        connections += 1
        (folder / "connections").write_text(str(connections))
        session.host_name = hostname
        return responses

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "killer":
            kill_sender(name)
        if name in refusals and not (folder / "mend").exists():
            return refusals[name]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        name = envelope.rcpt_tos[0].split("@")[0]
        if name == "spam":
            return "554 5.7.1 this is spam"
        kept = folder / "mails"
        (kept / f"{len(list(kept.iterdir()))}.eml").write_bytes(envelope.original_content)
        if name == "killer-after":
            kill_sender(name)
        return "250 2.0.0 kept"


def main():
    (folder / "mails").mkdir(exist_ok=True)
    options = {}
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        options = {"tls_context": context, "require_starttls": True}
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mailbox = Mailbox()
    server = loop.run_until_complete(loop.create_server(
        lambda: SMTP(mailbox, loop=loop, **options), host="127.0.0.1", port=0))
    (folder / "port.new").write_text(str(server.sockets[0].getsockname()[1]))
    (folder / "port.new").rename(folder / "port")
    # Ends when standard input is closed, so that it does not outlive the test that started it.
    loop.add_reader(0, lambda: os.read(0, 1) or loop.stop())
    loop.run_forever()


main()
