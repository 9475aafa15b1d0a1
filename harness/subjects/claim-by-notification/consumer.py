"""Claim by notification: hear ids, claim them, work outside the transaction, mark each that is still claimed.

The loop connects again when its session ends."""
import os, select, sys, time

import psycopg2

# The design's times are divided by 30: 60 s until announced, 30 s until processed again.
SECONDS = 1 / 30
CLAIM = """UPDATE messages SET status = 'claimed', changed_at = now(), attempts = attempts + 1
    WHERE id IN (SELECT id FROM messages WHERE id = ANY(%s) AND status = 'scheduled' FOR UPDATE SKIP LOCKED)
    RETURNING id, attempts"""
MARK = "UPDATE messages SET status = 'sent', changed_at = now() WHERE id = %s AND status = 'claimed'"
# Jobs whose announcement nobody heard are announced again. Jobs that were claimed and not finished
# are scheduled and announced again.
AGAIN = """WITH old AS (
        UPDATE messages SET status = 'scheduled', changed_at = now()
        WHERE (status = 'scheduled' AND changed_at < now() - make_interval(secs => %s))
           OR (status = 'claimed' AND changed_at < now() - make_interval(secs => %s))
        RETURNING id)
    SELECT pg_notify('messages', id::text) FROM old"""


def answer():
    """Returns how the harness ends the handler."""
    word = sys.stdin.readline().split()[0] if "MAILPROOF_ANSWERS" in os.environ else "ok"
    while word == "hang":
        time.sleep(1)
    return word


def work(sql, ids):
    sql.execute(CLAIM, (ids,))
    for job, attempt in sorted(sql.fetchall()):
        os.write(1, f"got {job} {attempt}\n".encode())
        if answer() != "ok":
            continue  # it stays claimed, and is scheduled again
        sql.execute(MARK, (job,))
        os.write(1, f"done {job}\n".encode())


def loop(db):
    db.autocommit = True
    sql, look_at = db.cursor(), 0
    sql.execute("LISTEN messages")
    while True:
        now = time.monotonic()
        if now >= look_at:
            sql.execute(AGAIN, (60 * SECONDS, 30 * SECONDS))
            look_at = now + 30 * SECONDS
        db.poll()
        ids = [int(n.payload) for n in db.notifies]
        db.notifies.clear()
        if ids:
            work(sql, ids)
        else:
            select.select([db], [], [], look_at - now)


while True:
    try:
        loop(psycopg2.connect(""))
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        print(str(error).strip(), file=sys.stderr, flush=True)
        time.sleep(0.1)
