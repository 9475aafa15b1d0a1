#!/usr/bin/python3
"""A mail collector that shares a queue of mode leased with others. Its reader answers each line."""
import base64, hmac, os, queue, random, re, select, signal, sys, threading, time
import psycopg2

KEY, LIMIT = bytes.fromhex(os.environ["MAILROOM_SECRET_KEY"]), int(os.environ.get("MAILROOM_BATCH_LIMIT", 10))
TIMEOUT = int(os.environ.get("MAILROOM_BATCH_TIMEOUT", 5000)) / 1000
OWNER = random.SystemRandom().getrandbits(62) + 1
db, epoch, looked, gone, line, number, stop, said = None, 0, 0, {}, (0, 0), 0, False, queue.Queue()


def run(sql, *values):
    cursor = db.cursor()
    cursor.execute(sql, values)
    return cursor.fetchall()


def join():  # what is ours beside the line in hand was taken by a call whose answer got lost
    global db, epoch
    db = psycopg2.connect(os.environ["MAILROOM_DATABASE_URL"], connect_timeout=5)
    db.autocommit = True
    run("LISTEN token_insert; SET statement_timeout = '10s'; SELECT 1")
    state, epoch, *_ = run("SELECT * FROM mailroom_peers('mailroom', %s, 'leased', '')", OWNER)[0]
    if state not in ("ours", "held"):
        sys.exit(f"the queue is {state}, not leased")
    for _, n, nonce, *_ in run("SELECT * FROM mailroom_settle_lines('mailroom', %s, null, null, in_doubt => '{}')", OWNER):
        if (n, nonce) != line:
            run("SELECT mailroom_settle_lines('mailroom', %s, ARRAY[%s], ARRAY[%s], 'back')", OWNER, n, nonce)


def call(function, *values, **named):  # again in a new session if this one is lost; that does no harm
    global db
    holes = ["%s"] * (2 + len(values)) + [f"{name} => %s" for name in named]
    while True:
        try:
            if not db:
                join()
            return run(f"SELECT * FROM {function}({', '.join(holes)})", "mailroom", OWNER, *values, *named.values())
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            print(str(error).strip(), file=sys.stderr, flush=True)
            db = None
            time.sleep(random.uniform(0.05, 0.4))


def live():  # once a second: renews our lease, and frees what those have that have been gone for half a second
    global db, looked, gone
    if time.monotonic() - looked > 1:
        looked = time.monotonic()
        dead = [(owner, counter) for owner, (counter, since) in gone.items() if looked - since > 0.5]
        first, *others = call("mailroom_peers", "leased", "", epoch, gone=[o for o, _ in dead], hangs=[False] * len(dead),
                              counters=[c for _, c in dead])
        gone = {o: (c, gone.get(o, (0, looked))[1]) for *_, o, c, alive, _ in others if not alive}
        db = None if first[0] == "lost" else db  # somebody has changed the mode


def take():  # a full line; or what there is, once its first token has waited for the timeout
    first = None
    while not stop:
        live()
        fewest = 1 if first and time.monotonic() >= first + TIMEOUT else LIMIT
        head, *rows = call("mailroom_take", None, LIMIT, fewest, answers=True)
        if rows and rows[0][0] < 3:
            return rows
        first = (first or time.monotonic()) if rows else None
        select.select([db], [], [], max(0.001, min(1, first + TIMEOUT - time.monotonic() if first else 1, (head[15] or 1000) / 1000)))


def fields(kind, email, login, secret, code):  # of a token that the line can carry
    secret, code = bytes(secret or b""), code or ""
    if len(secret) == 32 and re.fullmatch("[0-9]{5}" if kind == 2 or code else "", code) and not re.search('[,"\x00-\x1f\x7f-\x9f]', email + login):
        signature = hmac.digest(KEY, b"/activate" + secret if kind == 1 else b"/recover" + secret + code.encode(), "sha256")
        return f"{kind},{email},{login},{base64.urlsafe_b64encode(secret + signature).decode()[:86]},{code}"


def answers(count):  # what became of each token of the line
    told = {}
    while len(told) < count:
        live()
        try:
            text = said.get(timeout=1)
        except queue.Empty:
            continue
        if not text:
            os._exit(74)  # nobody answers any more
        answer = re.fullmatch(r"(\d+)(?:\.(\d+))? (sent|error transient|error permanent)(?: (.*))?\n", text)
        if answer and int(answer[1]) == number:
            for place in [int(answer[2])] if answer[2] else range(1, count + 1):
                told.setdefault(place, ({"sent": "sent", "error transient": "transient"}.get(answer[3], "dead"), answer[4] or ""))
    return [told[place] for place in range(1, count + 1)]


def listen():
    while text := sys.stdin.readline():
        said.put(text)
    said.put("")


def end(*_):  # what has no answer is freed by the others
    global stop
    stop = True
    if line[0]:
        os._exit(75)


signal.signal(signal.SIGTERM, end)
threading.Thread(target=listen, daemon=True).start()
while rows := take():
    line, texts = rows[0][1:3], [fields(row[0], *row[6:10]) for row in rows]
    count = sum(text is not None for text in texts)
    if count:
        number += 1
        print(",".join(filter(None, texts)), flush=True)
    told = iter(answers(count))
    told = [next(told) if text else ("dead", "no line can carry it") for text in texts]
    outcomes = ["dead" if what == "transient" and row[5] >= 7 else what for (what, _), row in zip(told, rows)]
    call("mailroom_settle_lines", [line[0]] * len(rows), [line[1]] * len(rows), tokens=[row[3] for row in rows],
         numbers=[row[4] for row in rows], outcomes=outcomes, texts=[text for _, text in told], alones=[False] * len(rows),
         delays_ms=[int(random.uniform(0, min(900000, 1000 * 2 ** row[5]))) for row in rows])
    line = 0, 0
call("mailroom_peers", "leased", "", leave="stopped")
