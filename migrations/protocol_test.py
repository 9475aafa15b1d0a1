"""What mailroom_take, mailroom_settle_lines and mailroom_peers promise. Each test begins with an
empty queue. Connects by libpq's variables; protocol_test.sh sets them."""

import random
import sys
import threading

import psycopg2
import psycopg2.errors
import psycopg2.extras


def connect():
    session = psycopg2.connect("", cursor_factory=psycopg2.extras.NamedTupleCursor)
    session.autocommit = True
    return session


def rows(session, sql, *values):
    with session.cursor() as c:
        c.execute(sql, values)
        return c.fetchall() if c.description else []


def value(session, sql, *values):
    return rows(session, sql, *values)[0][0]


admin = connect()
# A collector may call these functions, and do nothing else.
rows(admin, """CREATE ROLE caller; GRANT EXECUTE ON FUNCTION mailroom_peers, mailroom_take, mailroom_read,
    mailroom_settle_lines, mailroom_protocol TO caller""")


def insert(first, last=None, session=admin, status="provisioned"):
    rows(session, "INSERT INTO accounts (email, login, status) SELECT 'u' || n || '@x', 'u' || n, 'provisioned'"
                  " FROM generate_series(%s, %s) AS n", first, last or first)
    if status != "provisioned":
        rows(session, "UPDATE accounts SET status = %s WHERE login IN (SELECT 'u' || n FROM"
                      " generate_series(%s, %s) AS n)", status, first, last or first)


class Collector:
    """One session of a collector. `lines` maps (n, nonce) to the logins of the lines in hand."""

    def __init__(self, owner, mode="shared", **more):
        self.session, self.owner, self.mode = connect(), owner, mode
        rows(self.session, "SET ROLE caller")
        self.lines, self.epoch, self.head = {}, None, None
        first = self.peers(**more)[0]
        assert first.state == "ours", first
        self.epoch = first.epoch_

    def call(self, function, *values, **more):
        names = "".join(f", {name} => %s" for name in more)
        holes = ", ".join(["%s"] * (2 + len(values)))
        return rows(self.session, f"SELECT * FROM {function}({holes}{names})", "mailroom", self.owner, *values,
                    *more.values())

    def peers(self, **more):
        return self.call("mailroom_peers", self.mode, f"holder {self.owner}", self.epoch, **more)

    def take(self, wanted, fewest=1, **more):
        """Returns the logins of what was taken; or what waits, as ids."""
        result = self.call("mailroom_take", self.epoch if self.mode == "cursor" else None, wanted, fewest, **more)
        self.head = result[0]
        for row in result[1:]:
            if row.kind < 3:
                self.lines.setdefault((row.line, row.nonce), []).append(row)
        return [row.token if row.kind == 3 else row.login for row in result[1:]]

    def read(self, wanted, behind=None):
        """Returns what waits, and the place behind it as README.md makes it."""
        head, *tokens = rows(self.session, "SELECT * FROM mailroom_read('mailroom', %s, %s, %s)",
                             self.epoch, wanted, behind)
        if not tokens:
            return [], None
        n, seen, tick, now = head.place.split(";")
        last = tokens[-1]
        if len(tokens) < wanted:
            seen = tick = now
        elif last.part == 2:
            seen, tick = tick, now
        return tokens, ";".join([n, seen, tick, str(last.xid), str(last.token)])

    def settle(self, lines, **more):
        lines = list(lines)
        return self.call("mailroom_settle_lines", [n for n, _ in lines] or None, [x for _, x in lines] or None, **more)

    def write(self):
        """Settles all lines in hand, and returns their logins."""
        written = [row.login for line in self.lines.values() for row in line]
        for line, tokens in self.lines.items():
            assert not self.settle([line], ends=[tokens[-1].token])
        self.lines = {}
        return written

    def answer(self, *answers):
        """Answers are a row of a take, its outcome, and a delay in milliseconds."""
        tokens, outcomes, delays = zip(*answers)
        return self.settle([(t.line, t.nonce) for t in tokens], tokens=[t.token for t in tokens],
                           numbers=[t.number for t in tokens], outcomes=list(outcomes),
                           texts=["text"] * len(tokens), delays_ms=list(delays), alones=[False] * len(tokens))

    def die(self):
        pid = self.session.get_backend_pid()
        self.session.close()
        while value(admin, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s", pid):
            pass


def logins(first, last):
    return [f"u{n}" for n in range(first, last + 1)]


def fresh():
    """Ends the sessions of the test before, and empties the queue."""
    while value(admin, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                       " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"):
        pass
    rows(admin, "TRUNCATE tokens, accounts, dead_letters, attempts, runs, budgets RESTART IDENTITY CASCADE")
    rows(admin, "DELETE FROM deliveries; DELETE FROM owners")
    rows(admin, "UPDATE jobs SET mode = NULL, holder = NULL, last_xid = '0', last_seq = 0")
    rows(admin, "UPDATE cursors SET n = n + 1, seen = '1:1:', tick = '1:1:', xid = '0', id = 0")


# --- the tests ----------------------------------------------------------------------


def a_look_takes_no_number():
    c = Collector(1)
    before = value(admin, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
    assert c.take(10) == [] and c.head.more is False
    assert value(admin, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") == before
    insert(1, 3)
    before = value(admin, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
    assert c.take(10, fewest=5, lines=2) == [1, 2, 3] and c.head.more is False
    rows(c.session, "BEGIN")
    c.take(10, fewest=5)
    assert value(c.session, "SELECT pg_current_xact_id_if_assigned()") is None
    assert value(c.session, "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'RowShareLock'"
                            " AND relation = 'cursors'::regclass") == 0
    rows(c.session, "COMMIT")
    assert value(admin, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") == before
    assert c.take(10, fewest=3) == logins(1, 3)


def lines_are_full_or_alone():
    c = Collector(1)
    insert(1, 25)
    assert c.take(10, lines=8) == logins(1, 20) and c.head.more
    assert len(c.lines) == 2 and c.write() == logins(1, 20)
    assert c.take(10, lines=8) == logins(21, 25) and not c.head.more
    assert c.write() == logins(21, 25)
    insert(26, 125)
    assert len(c.take(1, lines=40)) == 32, "32 lines at most"
    assert len(c.take(3000, lines=8)) == 68, "always one line"
    insert(200, 1399)
    assert len(c.take(300, lines=8)) == 900, "1,000 tokens at most"


def what_cannot_be_sent_is_passed():
    c = Collector(1)
    insert(1, 150, status="suspended")
    insert(151, 152)
    assert c.take(10, fewest=5) == [151, 152], "passed, since they are many; nothing taken"
    assert c.head.others == 150 and value(admin, "SELECT count(*) FROM mailroom_untaken('mailroom')") == 2
    rows(admin, "UPDATE tokens SET expires_at = 1")
    assert c.take(10, fewest=5) == [] and c.head.expired == 2, "passed, since nothing else waits"
    insert(153)
    rows(admin, "UPDATE tokens SET secret = repeat('x', 200000)::bytea WHERE id = 153")
    insert(154)
    assert c.take(10) == ["u154"]
    assert value(admin, "SELECT reason FROM dead_letters WHERE token = 153") == "secret is not 32 bytes"


def two_takes_lose_and_double_nothing():
    """The second one waits for the cursor, while a transaction with a lower number commits."""
    late, a, b = connect(), Collector(1), Collector(2)
    rows(late, "BEGIN")
    insert(1, session=late)
    insert(2, 3)
    rows(a.session, "BEGIN")
    assert a.take(1) == ["u2"]
    waiting = threading.Thread(target=b.take, args=(10,))
    waiting.start()
    while not value(admin, "SELECT count(*) FROM pg_locks WHERE NOT granted"):
        pass
    rows(late, "COMMIT")
    insert(4)
    rows(a.session, "COMMIT")
    waiting.join()
    assert sorted(a.write() + b.write()) == logins(1, 4)


def two_takes_of_the_lower_lane_double_nothing():
    """The cursor that is locked, that of the first lane, does not move."""
    rows(admin, "SELECT mailroom_lanes('password_recovery,activation')")
    a, b = Collector(1), Collector(2)
    insert(1, 3)
    rows(a.session, "BEGIN")
    assert a.take(1) == ["u1"]
    waiting = threading.Thread(target=b.take, args=(10,))
    waiting.start()
    while not value(admin, "SELECT count(*) FROM pg_locks WHERE NOT granted"):
        pass
    rows(a.session, "COMMIT")
    waiting.join()
    assert a.write() + b.write() == logins(1, 3)
    fresh()
    rows(admin, "SELECT mailroom_lanes('')")


def a_transaction_of_its_own_loses_nothing():
    """Its tokens, from before and after a take, wait for its commit, as those of others do."""
    c = Collector(1)
    rows(c.session, "RESET ROLE")  # it inserts, too
    for others in False, True:
        fresh_tokens = logins(1, 3) if not others else logins(11, 14)
        first = int(fresh_tokens[0][1:])
        rows(c.session, "BEGIN")
        insert(first, session=c.session)
        if others: # so that a snapshot passes the number of this transaction
            insert(first + 3)
        assert c.take(10) == (fresh_tokens[3:] if others else [])
        insert(first + 1, session=c.session)
        rows(c.session, "COMMIT")
        insert(first + 2)
        assert c.take(10) == fresh_tokens[:3]


def a_savepoint_is_refused():
    c = Collector(1)
    insert(1)
    rows(c.session, "BEGIN; SAVEPOINT a")
    try:
        c.take(1)
        raise AssertionError("taken in a savepoint")
    except psycopg2.errors.InvalidTransactionState:
        rows(c.session, "ROLLBACK")
    assert c.take(1) == ["u1"]


def repeatable_read_ends_in_an_error():
    a, b = Collector(1), Collector(2)
    insert(1, 2)
    rows(b.session, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    assert a.take(1) == ["u1"]
    try:
        b.take(1)
        raise AssertionError("taken with an old snapshot")
    except psycopg2.errors.SerializationFailure:
        rows(b.session, "ROLLBACK")
    assert b.take(1) == ["u2"]


def a_read_writes_nothing():
    c = Collector(1, "cursor")
    insert(1, 3)
    tokens, place = c.read(2)
    assert [t.login for t in tokens] == ["u1", "u2"]
    assert value(admin, "SELECT count(*) FROM deliveries") == 0
    assert [r.token for r in c.settle([], in_doubt=[1, 2])] == [1, 2], "still in doubt"
    assert c.settle([], place=place) == [] and c.settle([], in_doubt=[1, 2]) == []
    assert [r.kind for r in c.settle([], place=place)] == ["lost"], "somebody else has moved it"
    assert [t.login for t in c.read(2)[0]] == ["u3"]


def reads_go_on_behind_lines_that_are_not_settled():
    c, busy = Collector(1, "cursor"), connect()
    insert(1, 2)
    rows(busy, "BEGIN")
    insert(3, session=busy)
    insert(4, 6)
    places, got = [None], []
    for wanted in 2, 1, 1:
        tokens, place = c.read(wanted, places[-1])
        got += [t.login for t in tokens]
        places.append(place)
    rows(busy, "COMMIT")
    insert(7)
    tokens, place = c.read(10, places[-1])
    assert got == ["u1", "u2", "u4", "u5"] and [t.login for t in tokens] == ["u6", "u3", "u7"], (got, tokens)
    for at in places[1:] + [place]:
        assert c.settle([], place=at) == []
    assert c.read(10) == ([], None)


def a_read_shows_what_is_passed_over():
    c = Collector(1, "cursor")
    insert(1, 4)
    rows(admin, "UPDATE tokens SET expires_at = 0 WHERE id = 1; UPDATE tokens SET consumed_at = 1 WHERE id = 2")
    rows(admin, "UPDATE accounts SET status = 'suspended' WHERE id = 3")
    assert [t.passed for t in c.read(10)[0]] == ["expired", "consumed", "the account is suspended", None]


def a_read_fails_when_the_queue_is_lost():
    a = Collector(1, "cursor")
    insert(1)
    place = a.read(1)[1]
    a.die()
    b = Collector(2, "cursor", over="holder 1")
    for old in (None, place):
        try:
            tokens, at = a.__class__.read(type("old", (), {"session": b.session, "epoch": b.epoch - 1})(), 1, old)
            assert old and not tokens, "an old holder has read"
        except psycopg2.errors.ObjectInUse:
            rows(b.session, "ROLLBACK")
            assert not old
    assert [r.kind for r in b.settle([], place=place)] == ["lost"]


def the_order_outlives_two_deaths():
    insert(1, 80)
    for owner, limit in (1, 10), (2, 4):
        c = Collector(owner, "cursor", over="holder 1")
        own = [r.line for r in c.settle([], in_doubt=[])]
        assert c.take(limit, lines=8, again=own or None) == logins(1, 80 if owner == 1 else limit)
        c.die()
    c, got = Collector(3, "cursor", over="holder 2"), []
    while own := [r.line for r in c.settle([], in_doubt=[])]:
        c.take(7, again=own)
        assert len(c.lines) == 1
        got += c.write()
    assert got == logins(1, 80)


def what_is_given_back_comes_first():
    a, b = Collector(1), Collector(2)
    insert(1, 30)
    a.take(5, lines=4)
    assert a.settle(list(a.lines)[1:], outcome="back") == []
    assert b.peers()[0].waits
    assert b.take(8) == logins(6, 13) and b.head.more
    assert a.take(30) == logins(14, 30), "the cut line, another one, and what follows"


def a_long_line_is_divided():
    a, b = Collector(1), Collector(2)
    insert(1, 10)
    a.take(10)
    a.settle([], outcome="back")
    assert b.take(3) == logins(1, 3) and not b.head.rest
    a.lines = {}
    assert a.take(3) == logins(4, 6) and b.write() == logins(1, 3)
    assert a.take(10) == logins(7, 10) and a.write() == logins(4, 10)


def a_long_line_is_consumed_in_parts():
    """where the order counts: what is left of it stays at its place."""
    a = Collector(1, "cursor")
    insert(1, 10)
    a.take(10)
    (n, _), = a.lines
    for first in 1, 4, 7:
        a.lines = {}
        assert a.take(3, again=[n]) == logins(first, first + 2) and a.head.rest == 8 - first
        (line, tokens), = a.lines.items()
        assert not a.settle([line], ends=[tokens[2].token])
    assert [r.tokens for r in rows(admin, "SELECT tokens FROM deliveries")] == [[10]]


def a_line_has_a_random_number():
    c = Collector(1)
    insert(1)
    c.take(1)
    (n, nonce), = c.lines
    assert [r.kind for r in c.settle([(n, nonce + 1)])] == ["lost"]
    assert c.settle([(n, nonce)]) == [] and [r.kind for r in c.settle([(n, nonce)])] == ["lost"]


def the_gone_are_freed_unless_they_come_back():
    a, b = Collector(1), Collector(2)
    insert(1, 4)
    a.take(2)
    seen = b.peers()[1]
    assert (seen.other, seen.alive) == (1, True)
    assert b.peers(gone=[1], counters=[seen.renewed], hangs=[False])[0].adopted == 0, "it lives"
    a.peers()
    assert b.peers(gone=[1], counters=[seen.renewed], hangs=[True])[0].adopted == 0, "it has renewed"
    a.die()
    seen = b.peers()[1]
    assert (seen.other, seen.alive) == (1, False)
    assert b.peers(gone=[1], counters=[seen.renewed], hangs=[False])[0].adopted == 2
    assert b.take(10) == logins(1, 4) and len(b.peers()) == 1


def who_has_something_in_hand_does_not_wait_for_accounts():
    for mode in ("shared", "leased", "cursor"):
        fresh()
        c, other = Collector(1, mode), connect()
        insert(1, 2)
        c.take(1)
        c.die()
        other.autocommit = False
        rows(other, "LOCK TABLE accounts")
        c.session, c.epoch = connect(), None
        rows(c.session, "SET lock_timeout = '1s'")
        first = c.peers()[0]
        assert (first.state, first.waits) == ("ours", False), "it joins"
        c.epoch = first.epoch_
        assert c.peers()[0].state == "ours", "it renews its lease"
        (line, nonce), = c.lines
        assert [(r.line, r.nonce) for r in c.settle([], in_doubt=[])] == [(line, nonce)]
        assert c.settle(c.lines) == [], "it settles"
        other.rollback()


def only_one_has_a_queue_in_cursor_mode():
    a = Collector(1, "cursor")
    b = Collector.__new__(Collector)
    b.session, b.owner, b.mode, b.epoch, b.lines = connect(), 2, "cursor", None, {}
    assert b.peers()[0].state == "held"
    insert(1, 2)
    a.take(1)
    a.die()
    first = b.peers()[0]
    assert (first.state, first.holder_) == ("free", "holder 1")
    first = b.peers(over="holder 1")[0]
    assert (first.state, first.adopted) == ("ours", 1)
    a.session = connect()
    try:
        a.take(1)
        raise AssertionError("taken with an old epoch")
    except psycopg2.errors.ObjectInUse:
        pass
    b.epoch = first.epoch_
    assert b.take(2, again=[r.line for r in b.settle([], in_doubt=[])]) == ["u1", "u2"]


def answers_count_once():
    c = Collector(1, "leased")
    insert(1, 4)
    c.take(4, answers=True)
    (line, t), = c.lines.items()
    some = (t[0], "sent", None), (t[1], "dead", None), (t[2], "transient", 0)
    assert c.answer(*some) == [] and c.answer(*some) == [], "a repeated one is no late one"
    assert value(admin, "SELECT tokens FROM deliveries WHERE owner = 1") == [4]
    assert [r.login for r in rows(admin, "SELECT login FROM dead_letters JOIN accounts ON id = account"
            .replace("id =", "accounts.id ="))] == ["u2"]
    c.lines = {}
    assert c.take(4, answers=True) == ["u3"] and (c.head.more, c.lines) and not c.head.next_due_ms
    again, = next(iter(c.lines.values()))
    assert (again.number, again.errors) == (2, 1)
    c.settle([], outcome="back")
    assert [r.kind for r in c.answer((again, "sent", None), (t[3], "sent", None))] == ["lost", "lost"]
    assert rows(admin, "SELECT outcome, count(*) FROM attempts GROUP BY 1 ORDER BY 1") == [
        ("dead", 1), ("late", 2), ("sent", 1), ("transient", 1)]


def answers_leave_the_rest_of_their_lines():
    c = Collector(1, "leased")
    insert(1, 6)
    c.take(2, lines=3, answers=True)
    a, b, d = c.lines.values()
    assert c.answer(*((t, "sent", None) for t in (a[0], b[0], b[1]))) == []
    assert rows(admin, "SELECT tokens FROM deliveries ORDER BY n") == [([2],), ([5, 6],)]
    assert c.answer((a[1], "returned", 0), (d[0], "dead", None), (d[1], "sent", None)) == []
    assert rows(admin, "SELECT owner, tokens, numbers, errors FROM deliveries") == [(0, [2], [2], [0])]


def a_late_answer_is_recorded():
    """beside what ended its line: a time-out, in the same call or before; or another who freed it."""
    a, b = Collector(1, "leased"), Collector(2, "leased")
    insert(1, 3)
    a.take(3, answers=True)
    (t, u, v), = a.lines.values()
    late = (t, "returned", 0), (t, "late", None), (u, "returned", 0)
    assert [r.token for r in a.answer(*late)] == [t.token]
    assert [r.token for r in a.answer((u, "late", None))] == [u.token]
    assert b.peers(gone=[1], counters=[b.peers()[1].renewed], hangs=[True])[0].adopted == 1
    for _ in 1, 2:
        assert [r.token for r in a.answer((v, "sent", None))] == [v.token]
    a.answer(*late)
    assert rows(admin, "SELECT token, outcome, count(*) FROM attempts GROUP BY 1, 2 ORDER BY 1, 2") == [
        (t.token, "late", 1), (t.token, "returned", 1), (u.token, "late", 1), (u.token, "returned", 1),
        (v.token, "late", 1), (v.token, "lost", 1)]


def an_answer_counts_for_its_line_only():
    """After a failover another line may have the same n, and other tokens the same ids."""
    c = Collector(1, "leased")
    insert(1, 2)
    c.take(2, answers=True)
    (t, u), = c.lines.values()
    rows(admin, "UPDATE deliveries SET nonce = nonce + 1")
    assert [r.token for r in c.answer((t, "sent", None), (u, "transient", 0))] == [t.token, u.token]
    assert rows(admin, "SELECT owner, tokens FROM deliveries") == [(1, [t.token, u.token])]
    assert rows(admin, "SELECT outcome, count(*) FROM attempts GROUP BY 1") == [("late", 2)]


def a_mode_that_changes_meanwhile_is_noticed():
    """The mode counts that is read under the lock of the queue."""
    Collector(1, "leased").die()
    late = connect()
    rows(late, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    rows(admin, "SELECT mailroom_switch_mode('mailroom', 'cursor')")
    try:
        rows(late, "SELECT * FROM mailroom_peers('mailroom', 2, 'leased', 'two')")
        raise AssertionError("joined in a mode that the queue no longer has")
    except psycopg2.errors.SerializationFailure:
        rows(late, "ROLLBACK")
    assert rows(late, "SELECT state FROM mailroom_peers('mailroom', 2, 'leased', 'two')") == [("cursor",)]


def a_secret_of_another_length_is_not_sent():
    c = Collector(1, "cursor")
    insert(1, 2)
    rows(admin, "UPDATE tokens SET secret = repeat('x', 200000)::bytea WHERE id = 1")
    t, u = c.read(2)[0]
    assert t.secret is None and len(u.secret) == 32


def all_characters_are_judged_alike():
    judged = """SELECT c FROM generate_series(1, 700) AS c, LATERAL (SELECT chr(c)) AS s (s)
                WHERE c <> 32 AND (mailroom_unsendable('activation', {}, '\\x00', {}) IS NOT NULL)
                                  <> mailroom_suspect({}, {})"""
    for fields in (("'a' || s", "'b'"), "'12345'"), (("'a'", "s || 'b'"), "'12345'"), (("'a'", "'b'"), "'1' || s || '345'"):
        names, code = fields
        assert rows(admin, judged.format(", ".join(names), code, " || ".join(names), code)) == []


def who_dies_with_answers_open_has_tried():
    a = Collector(1, "leased")
    insert(1, 2)
    a.take(2, answers=True)
    a.die()
    b = Collector(2, "leased")
    seen = b.peers()[1]
    assert b.peers(gone=[1], counters=[seen.renewed], hangs=[False])[0].adopted == 2
    b.take(2, answers=True)
    assert [(t.login, t.number, t.errors) for t in next(iter(b.lines.values()))] == [("u1", 2, 0), ("u2", 2, 0)]
    assert rows(admin, "SELECT outcome, count(*) FROM attempts GROUP BY 1") == [("lost", 2)]


def the_largest_line_may_fail_as_a_whole():
    c = Collector(1, "leased")
    # The trigger would insert the token of each account by a statement of its own.
    rows(admin, "SET session_replication_role = replica")
    insert(1, 20000)
    rows(admin, "RESET session_replication_role")
    rows(admin, "INSERT INTO tokens (action, account) SELECT 'activation', id FROM accounts ORDER BY id")
    rows(c.session, "SET statement_timeout = '60s'")
    c.take(20000, answers=True)
    line, = c.lines.values()
    assert c.answer(*((t, "transient", 0) for t in line)) == []
    c.lines = {}
    assert c.take(20000, answers=True) == logins(1, 20000) and len(c.lines) == 1
    line, = c.lines.values()
    assert c.answer(*((t, "sent", None) for t in line)) == []
    assert value(admin, "SELECT count(*) FROM deliveries") == 0


def a_budget_is_spent_for_lines_only():
    budget = {"per_s": 0.000001, "burst": 5}
    c = Collector(1)
    insert(1, 3)
    assert c.take(10, fewest=4, **budget) == [1, 2, 3]
    assert value(admin, "SELECT count(*) FROM budgets") == 0, "spent below fewest"
    rows(admin, "UPDATE accounts SET status = 'suspended' WHERE login = 'u1'")
    insert(4, 9)
    assert c.take(10, **budget) == logins(2, 6) and c.head.more
    assert c.take(10, fewest=2, **budget) == [7, 8] and c.head.wait_ms > 0
    (n, _), = c.lines
    assert c.take(10, again=[n], **budget) == logins(2, 6), "paid for already"
    rows(admin, "UPDATE deliveries SET paid_at = clock_timestamp() - interval '3 s'")
    c.lines = {}
    assert c.take(10, again=[n], **budget) == [2], "a payment is for two seconds"
    assert not c.lines and value(admin, "SELECT cardinality(tokens) FROM deliveries") == 5


def a_part_of_a_row_is_paid_for_once():
    budget = {"per_s": 0.000001, "burst": 5}
    insert(1, 10)
    first = Collector(1, "cursor")
    first.take(10)
    first.die()
    c = Collector(2, "cursor", over="holder 1")
    n = value(admin, "SELECT n FROM deliveries WHERE owner = 2")
    for _ in range(2):
        c.lines = {}
        assert c.take(4, again=[n], **budget) == logins(1, 4) and c.head.rest == 6, "paid for already"
    assert c.write() == logins(1, 4)
    for _ in range(2):
        c.lines = {}
        assert c.take(4, again=[n], **budget) == ["u5"], "the rest was not paid for"
    # Tokens that are paid for later do not make the payment of the first last longer.
    rows(admin, "UPDATE deliveries SET paid_at = paid_at - interval '1 s'")
    moment = value(admin, "SELECT paid_at FROM deliveries")
    rows(admin, "UPDATE budgets SET left_ = 5")
    c.lines = {}
    assert c.take(4, again=[n], **budget) == logins(5, 8)
    assert value(admin, "SELECT paid_at FROM deliveries") == moment
    assert value(admin, "SELECT floor(left_) FROM budgets") == 2


def an_alone_token_goes_alone():
    c = Collector(1, "leased")
    insert(1, 3)
    c.take(2, answers=True)
    (t, u), = c.lines.values()
    c.settle([(t.line, t.nonce)] * 2, tokens=[t.token, u.token], numbers=[1, 1], outcomes=["returned"] * 2,
             texts=["died"] * 2, delays_ms=[0, 0], alones=[True] * 2)
    assert c.take(10, answers=True) == ["u1"] and c.head.alone and c.head.more
    assert c.take(10, answers=True) == ["u2"] and c.head.alone
    assert c.take(10, answers=True) == ["u3"] and not c.head.alone


def truncated_tokens_are_forgotten():
    c = Collector(1)
    insert(1, 5)
    c.take(5)
    c.settle([], outcome="back")
    rows(admin, "TRUNCATE tokens, accounts RESTART IDENTITY")
    insert(6, 7)
    c.lines = {}
    assert c.take(5) == ["u6", "u7"] and len(c.lines) == 1
    assert value(admin, "SELECT count(*) FROM deliveries") == 1


def a_storm_loses_and_doubles_nothing():
    got, stop, numbers = [], threading.Event(), iter(range(1, 10**6))
    guard, wanted = threading.Lock(), []

    def produce(seed):
        draw, session = random.Random(seed), connect()
        session.autocommit = False
        for _ in range(60):
            with guard:
                mine = [next(numbers) for _ in range(draw.randint(1, 4))]
            for n in mine:
                insert(n, session=session)
            if draw.random() < 0.1:
                session.rollback()
            else:
                session.commit()
                with guard:
                    wanted.extend(mine)

    def collect(owner):
        draw, c = random.Random(owner), Collector(owner)
        while True:
            last = stop.is_set()
            c.take(draw.choice([1, 3, 10]), lines=draw.choice([1, 8]))
            back = [line for line in c.lines if draw.random() < 0.1 and not last]
            assert not back or not c.settle(back, outcome="back")
            for line in back:
                del c.lines[line]
            written = c.write()
            with guard:
                got.extend(written)
            if last and not written and not value(admin_of[owner], "SELECT count(*) FROM deliveries WHERE owner = 0"):
                return

    admin_of = {owner: connect() for owner in (1, 2, 3)}
    Collector(9).die() # makes the cursor
    collectors = [threading.Thread(target=collect, args=(owner,)) for owner in admin_of]
    producers = [threading.Thread(target=produce, args=(seed,)) for seed in range(4)]
    for t in collectors + producers:
        t.start()
    for t in producers:
        t.join()
    stop.set()
    for t in collectors:
        t.join()
    assert sorted(got) == sorted(f"u{n}" for n in wanted), (
        set(f"u{n}" for n in wanted) - set(got), len(got) - len(set(got)), len(wanted),
        rows(admin, "SELECT token FROM mailroom_untaken('mailroom')"), rows(admin, "SELECT * FROM deliveries"))


for test in (a_look_takes_no_number, lines_are_full_or_alone, what_cannot_be_sent_is_passed,
             two_takes_lose_and_double_nothing,
             two_takes_of_the_lower_lane_double_nothing, a_transaction_of_its_own_loses_nothing, a_savepoint_is_refused,
             repeatable_read_ends_in_an_error, a_read_writes_nothing, reads_go_on_behind_lines_that_are_not_settled,
             a_read_shows_what_is_passed_over, a_read_fails_when_the_queue_is_lost, the_order_outlives_two_deaths,
             what_is_given_back_comes_first, a_long_line_is_divided, a_long_line_is_consumed_in_parts, a_line_has_a_random_number,
             the_gone_are_freed_unless_they_come_back, who_has_something_in_hand_does_not_wait_for_accounts, only_one_has_a_queue_in_cursor_mode, answers_count_once,
             answers_leave_the_rest_of_their_lines, a_late_answer_is_recorded, an_answer_counts_for_its_line_only,
             a_mode_that_changes_meanwhile_is_noticed, a_secret_of_another_length_is_not_sent,
             all_characters_are_judged_alike, who_dies_with_answers_open_has_tried, the_largest_line_may_fail_as_a_whole,
             a_budget_is_spent_for_lines_only, a_part_of_a_row_is_paid_for_once, an_alone_token_goes_alone, truncated_tokens_are_forgotten,
             a_storm_loses_and_doubles_nothing):
    if test.__name__ not in (sys.argv[1:] or [test.__name__]):
        continue
    fresh()
    test()
    print("ok:", test.__name__)
