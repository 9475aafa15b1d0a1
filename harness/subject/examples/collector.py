#!/usr/bin/python3
"""A mail collector in Python, with Debian's python3-psycopg2 and the outbox of outbox.sql."""
import base64, hmac, math, os, random, re, select, signal, sys, time
from pathlib import Path

import psycopg2, psycopg2.extensions

LIMIT = int(os.environ.get("MAILROOM_BATCH_LIMIT", 10))
TIMEOUT = int(os.environ.get("MAILROOM_BATCH_TIMEOUT", 5000)) / 1000
HEALTH = int(os.environ.get("MAILROOM_HEALTHCHECK_INTERVAL", 270000)) / 1000
ANSWER = 5  # seconds that one query may take
NOTICE = min(0.025, TIMEOUT)  # seconds by which a token's notice may come later than the token
BATCH = """SELECT o.token, t.account, t.action, a.email, a.login, t.secret, t.code,
        t.consumed_at IS NULL AND t.expires_at > extract(epoch FROM now())
        AND (t.action, a.status) IN (('activation', 'provisioned'), ('password_recovery', 'active'))
    FROM outbox o LEFT JOIN tokens t ON t.id = o.token LEFT JOIN accounts a ON a.id = t.account
    ORDER BY o.token LIMIT %s"""
FORGET = "DELETE FROM outbox WHERE token = ANY(%s)"
BURY = """WITH gone AS (DELETE FROM outbox WHERE token = %s RETURNING token)
    INSERT INTO dead_letters (token, account, action, reason) SELECT token, %s, %s, %s FROM gone"""

stop, ready, failures = False, False, 0
unconfirmed = []  # ids of a line that was written and may still be in the outbox


def log(text):
    print(time.strftime("%Y/%m/%d %H:%M:%S"), str(text).strip(), file=sys.stderr, flush=True)


def unsendable(action, email, login, secret, code):
    if re.search('[,"\x00-\x1f\x7f-\x9f]', email + login):
        return "comma, quote or control character in email or login"
    if len(secret) != 32 or not re.fullmatch("[0-9]{5}" if action == 2 or code else "", code):
        return "secret is not 32 bytes, or code not 5 digits"


def fields(action, email, login, secret, code):
    signed = b"/activate" + secret if action == 1 else b"/recover" + secret + code.encode()
    text = base64.urlsafe_b64encode(secret + hmac.digest(KEY, signed, "sha256")).decode()
    return f"{action},{email},{login},{text[:86]},{code}"


def wait_for_server(db):  # psycopg2 calls this instead of waiting for ever
    end = time.monotonic() + ANSWER
    while (state := db.poll()) != psycopg2.extensions.POLL_OK:
        reads, writes = ([db], []) if state == psycopg2.extensions.POLL_READ else ([], [db])
        if not any(select.select(reads, writes, [], max(0, end - time.monotonic()))):
            raise psycopg2.OperationalError(f"no answer within {ANSWER} s")


def take(sql):  # returns the next batch; tokens that cannot be sent leave the outbox here
    while True:
        sql.execute(BATCH, (LIMIT,))
        batch, passed, dead = [], [], []
        for token, account, action, email, login, secret, code, eligible in sql.fetchall():
            row = 1 if action == "activation" else 2, email, login, bytes(secret or b""), code or ""
            if not eligible:
                passed.append(token)
            elif reason := unsendable(*row):
                dead.append((token, account, action, reason))
            else:
                batch.append((token, fields(*row)))
        if not passed and not dead:
            return batch
        log(f"{len(passed)} tokens are not eligible, {len(dead)} cannot be sent")
        sql.execute(FORGET, (passed,))
        for letter in dead:
            sql.execute(BURY, letter)


def send(sql, batch):  # written first, then forgotten: a death in between repeats the line
    data = (",".join(text for _, text in batch) + "\n").encode()
    while data:
        data = data[os.write(1, data):]
    unconfirmed.extend(token for token, _ in batch)
    confirm(sql)


def confirm(sql):
    sql.execute(FORGET, (unconfirmed,))
    unconfirmed.clear()


def serve(db, sql):  # one session, until it dies or the process is told to stop
    sql.execute("LISTEN token_insert")
    confirm(sql)  # the line that the last session could not confirm
    due = {}  # when each waiting token has to go, by its id
    more = True  # a full batch was sent: look again at once
    patience = -math.inf  # how long a token waits that was not announced; at first: not at all
    while not stop:
        db.poll()
        now = time.monotonic()
        due.update((int(notice.payload), now + TIMEOUT) for notice in db.notifies)
        db.notifies.clear()
        first = min(due.values(), default=math.inf)
        if now < first and len(due) < LIMIT and not more:
            woken = any(select.select([db, WAKE], [], [], min(first - now, HEALTH)))
            if not woken and first == math.inf:
                sql.execute("SELECT 1")  # nothing was heard for long: does the session still live?
            continue
        batch = take(sql)
        more = len(batch) == LIMIT
        now = time.monotonic()
        waiting = {token: due.get(token, now + patience) for token, _ in batch}
        patience = NOTICE
        if not more:  # all that waits is in this batch; what is not was passed over, or sent before
            due = waiting
        if more or (batch and now >= min(waiting.values())):
            send(sql, batch)
            for token, _ in batch:
                due.pop(token, None)


def on_term(*_):
    global stop
    stop = True
    signal.setitimer(signal.ITIMER_REAL, 0.8)  # for the line that has begun


try:
    KEY, URL = bytes.fromhex(os.environ["MAILROOM_SECRET_KEY"]), os.environ["MAILROOM_DATABASE_URL"]
except (KeyError, ValueError) as error:
    log(f"MAILROOM_DATABASE_URL and MAILROOM_SECRET_KEY (64 hex digits) are needed: {error}")
    sys.exit(78)
WAKE, waker = os.pipe2(os.O_NONBLOCK)  # a signal ends every wait
signal.set_wakeup_fd(waker)
signal.signal(signal.SIGTERM, on_term)
signal.signal(signal.SIGINT, on_term)
signal.signal(signal.SIGALRM, lambda *_: os._exit(75))
psycopg2.extensions.set_wait_callback(wait_for_server)
while not stop:
    try:
        db = psycopg2.connect(URL)
        db.autocommit, sql = True, db.cursor()
        if not ready:
            sql.execute(Path(__file__).with_name("outbox.sql").read_text())
        log("[PG] connected")
        ready, failures = True, 0
        serve(db, sql)
    except (psycopg2.ProgrammingError, ValueError) as error:
        # A table, a column or a right is missing, or a notice names no token.
        log(f"the schema does not fit: {error}")
        sys.exit(78)
    except psycopg2.Error as error:  # all else passes, such as a server that refuses to write
        log(error)
        failures = min(failures + 1, 8)
        select.select([WAKE], [], [], random.uniform(0.5, 1) * min(0.02 * 2**failures, 1))
    except OSError as error:
        log(f"standard output: {error}")
        sys.exit(74)
os._exit(75 if unconfirmed else 0)  # at once: the alarm would kill an interpreter that ends slowly
