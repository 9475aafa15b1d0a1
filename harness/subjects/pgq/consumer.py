"""One PgQ consumer: a batch, its events, finish_batch, commit. The events of a batch that is not finished come again."""
import os, sys, time

import psycopg2

seen = {}  # how often this process has got each job


def events(sql):
    sql.execute("SELECT pgq.ticker()")
    sql.connection.commit()
    sql.execute("SELECT pgq.next_batch('q', 'c')")
    batch = sql.fetchone()[0]
    if batch is None:
        return None, []
    sql.execute("SELECT ev_type FROM pgq.get_batch_events(%s)", (batch,))
    return batch, [row[0] for row in sql.fetchall()]


def loop(db):
    sql = db.cursor()
    while True:
        batch, jobs = events(sql)
        for job in jobs:
            seen[job] = seen.get(job, 0) + 1
            os.write(1, f"got {job} {seen[job]}\n".encode())
        if batch is not None:
            sql.execute("SELECT pgq.finish_batch(%s)", (batch,))
        db.commit()
        for job in jobs:
            os.write(1, f"done {job}\n".encode())
        if batch is None:
            time.sleep(0.05)


while True:
    try:
        loop(psycopg2.connect(""))
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        print(str(error).strip(), file=sys.stderr, flush=True)
        time.sleep(0.1)
