#!/usr/bin/python3
"""A mail collector that shares a queue of mode leased with others. Its reader answers each line."""
import base64, hmac, os, psycopg2.extensions, random, re, select, signal, sys, time

ENV, OWNER = os.environ, random.SystemRandom().getrandbits(62) + 1
KEY, LIMIT = bytes.fromhex(ENV["MAILROOM_SECRET_KEY"]), int(ENV.get("MAILROOM_BATCH_LIMIT", 10))
TIMEOUT = int(ENV.get("MAILROOM_BATCH_TIMEOUT", 5000)) / 1000
ANSWER = re.compile(r"(\d+)(?:\.(\d+))? (sent|error transient|error permanent)(?: (.*))?")
db, epoch, looked, gone, line, number, said = None, 0, 0, {}, (0, 0), 0, ""

def run(function, *values, **named):
    holes, cursor = ["%s"] * (2 + len(values)) + [f"{name} => %s" for name in named], db.cursor()
    cursor.execute(f"SELECT * FROM {function}({', '.join(holes)})",
                   ["mailroom", OWNER, *values, *named.values()])
    return cursor.fetchall()

def wait(session):  # for the server, whose silence ends the session; a signal is served meanwhile
    while state := session.poll():
        reads, writes = [[session] if state == way else [] for way in (1, 2)]
        if select.select(reads, writes, [], 12) == ([], [], []):
            raise psycopg2.OperationalError("the server has been silent for 12 s")

def join():  # what is ours beside the line in hand was taken by a call whose answer got lost
    global db, epoch
    db = psycopg2.connect(ENV["MAILROOM_DATABASE_URL"])
    db.autocommit = True
    db.cursor().execute("LISTEN token_insert; SET statement_timeout = '10s'")
    state, epoch, *_ = run("mailroom_peers", "leased", "")[0]
    if state != "ours":
        raise psycopg2.OperationalError(f"the queue is {state}")
    ours = run("mailroom_settle_lines", None, None, in_doubt=[])
    for n, nonce in {row[1:3] for row in ours} - {line}:
        run("mailroom_settle_lines", [n], [nonce], "back")

def call(*values, **named):  # in a new session if this one is lost; to ask twice does no harm
    global db
    while True:
        try:
            if not db:
                join()
            return run(*values, **named)
        except psycopg2.Error as error:
            print(str(error).strip(), file=sys.stderr, flush=True)
            db = time.sleep(random.uniform(0.05, 0.4))

def live():  # once a second: renews our lease, and frees what those have that have been gone
    global looked, gone
    if time.monotonic() - looked > 1:
        dead, looked = [g for g in gone.items() if g[1][1] <= looked], time.monotonic()
        _, *others = call("mailroom_peers", "leased", "", epoch, gone=[o for o, _ in dead],
                          counters=[n for _, (n, _) in dead], hangs=[False] * len(dead))
        gone = {o: (n, gone.get(o, (0, looked))[1]) for *_, o, n, alive, _ in others if not alive}

def take():  # a full line; or what there is, once its first token has waited for the timeout
    first = None
    while True:
        live()
        late = first and time.monotonic() >= first + TIMEOUT
        head, *rows = call("mailroom_take", None, LIMIT, 1 if late else LIMIT, answers=True)
        if rows and rows[0][0] < 3:
            return rows
        first = (first or time.monotonic()) if rows else None
        rest = first + TIMEOUT - time.monotonic() if first else 1
        if not db.notifies:  # one that came with an answer does not make the socket readable
            select.select([db], [], [], max(0.001, min(1, rest, (head[15] or 1000) / 1000)))
        db.notifies.clear()

def field(kind, email, login, secret, code):  # of a token; the take has judged it
    signed = [b"/activate%s", b"/recover%s" + (code or "").encode()][kind - 1] % bytes(secret)
    text = base64.urlsafe_b64encode(bytes(secret) + hmac.digest(KEY, signed, "sha256")).decode()
    return f"{kind},{email},{login},{text[:86]},{code or ''}"

def answers(count):  # what became of each token of the line: the first answer counts
    global said
    told, places = {}, range(1, count + 1)
    while not told.keys() >= set(places):
        live()
        if select.select([0], [], [], 1)[0]:
            heard = os.read(0, 65536).decode("ascii", "replace")
            if not heard:
                print("nobody answers: standard input has ended", file=sys.stderr, flush=True)
                os._exit(74)
            said += heard
            *lines, said = said.split("\n")
            for a in (a for a in map(ANSWER.fullmatch, lines) if a and int(a[1]) == number):
                told = {**dict.fromkeys([int(a[2])] if a[2] else places, (a[3], a[4])), **told}
    return [told[place] for place in places]

psycopg2.extensions.set_wait_callback(wait)
signal.signal(signal.SIGTERM, lambda *_: os._exit(75 if line[0] else 0))  # others free what we have
while rows := take():
    line, number, n = rows[0][1:3], number + 1, len(rows)
    try:
        print(",".join(field(row[0], *row[6:10]) for row in rows), flush=True)
    except OSError as error:
        print(f"nobody reads: {error}", file=sys.stderr, flush=True)
        os._exit(74)
    told = answers(n)
    outcomes = ["sent" if what == "sent" else "transient" if "transient" in what and row[5] < 7
                else "dead" for (what, _), row in zip(told, rows)]
    call("mailroom_settle_lines", [line[0]] * n, [line[1]] * n, alones=[False] * n,
         tokens=[r[3] for r in rows], numbers=[r[4] for r in rows], outcomes=outcomes,
         texts=[text or "" for _, text in told],
         delays_ms=[int(random.uniform(0, min(9e5, 1000 * 2 ** r[5]))) for r in rows])
    line = 0, 0
