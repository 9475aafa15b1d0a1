"""The textbook loop: take one job that nobody has locked, work, mark it, commit; asleep for 50 ms when there is none.

A job that was not marked is free again when its session ends. The loop connects again when its session ends."""
import os, sys, time

import psycopg2

TAKE = """SELECT id FROM jobs WHERE processed_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1"""
attempts = {}  # how often this process has got each job


class Failed(Exception):
    pass


def work(job):
    attempts[job] = attempts.get(job, 0) + 1
    os.write(1, f"got {job} {attempts[job]}\n".encode())
    word = sys.stdin.readline().split()[0] if "MAILPROOF_ANSWERS" in os.environ else "ok"
    if word == "fail":
        raise Failed
    while word == "hang":
        time.sleep(1)


def loop(db):
    sql = db.cursor()
    while True:
        sql.execute(TAKE)
        row = sql.fetchone()
        try:
            if row:
                work(row[0])
                sql.execute("UPDATE jobs SET processed_at = now() WHERE id = %s", row)
        except Failed:
            row = None
        db.commit()
        if row:
            os.write(1, f"done {row[0]}\n".encode())
        else:
            time.sleep(0.05)


while True:
    try:
        loop(psycopg2.connect(""))
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        print(str(error).strip(), file=sys.stderr, flush=True)
        time.sleep(0.1)
