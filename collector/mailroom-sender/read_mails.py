"""Prints what the mails in FOLDER say: recipient, secret, code, Message-ID.

One line a mail. A secret that the key did not sign ends the program with 1.
    python3 read_mails.py FOLDER KEY
"""
import base64
import email
import email.policy
import hashlib
import hmac
import pathlib
import re
import sys

key = bytes.fromhex(sys.argv[2])
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.eml"), key=lambda p: int(p.stem)):
    mail = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    if mail.is_multipart():
        sys.exit(f"{path}: the mail has several parts")
    text = mail.get_body(("plain",)).get_content().replace("\r\n", "\n")
    found = re.search(r"^https://site\.example/(activate|recover)\?token=([-_A-Za-z0-9]{86})$",
                      text, re.MULTILINE)
    code = re.search(r"code: (\d{5})$", text, re.MULTILINE)
    raw = base64.urlsafe_b64decode(found[2] + "==")
    signed = b"/" + found[1].encode() + raw[:32]
    if found[1] == "recover":
        signed += code[1].encode()
    if not hmac.compare_digest(hmac.new(key, signed, hashlib.sha256).digest(), raw[32:]):
        sys.exit(f"{path}: the secret is not signed")
    print(mail["To"].strip("<>"), found[2], code[1] if code else "-", mail["Message-ID"])
