#!/bin/sh
# Collectors that share a queue own what they have taken. When one of them hangs or dies, others
# deliver that.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server
    migrate
    export MAILROOM_DEQUEUE=shared MAILROOM_GRACE=200
    what_the_dead_claimed_is_freed
    a_failed_confirmation_keeps_the_claims
    a_dead_claim_is_freed_during_a_backlog
    a_promoted_standby_has_forgotten_the_claims
    a_hanging_collector_loses_its_lease
    who_has_come_back_is_not_forgotten
    a_dead_one_among_many_is_found
    echo "all promises of a takeover hold"
}

# Collector c takes tokens and writes a line, and is killed before it can confirm that line.
what_the_dead_claimed_is_freed()
{
    hold_confirming
    run c
    has_logged c "in shared mode"
    add_accounts 2001 3000
    until_true "$one_waits"
    ends c KILL 137
    end_sessions
    same "taken by the dead" 10 "$(sql "SELECT sum(cardinality(tokens)) FROM deliveries")"
    let_go
    run d
    drained
    has_logged d "of another collector, which is gone"
    same "nothing lost, one batch twice" "1010 1000" "$(tokens c d)"
    ends d TERM 0
}

# t loses its session while a line is not confirmed, and its next session fails to confirm that line.
# The tokens stay t's own.
a_failed_confirmation_keeps_the_claims()
{
    hold_confirming
    run t
    has_logged t "in shared mode"
    add_accounts 7101 7103
    until_true "$one_waits"
    first=$(who_waits)
    sql "SELECT pg_terminate_backend($first)" >/dev/null
    until_true "$one_waits AND pid <> $first"
    sql "SELECT pg_cancel_backend($(who_waits))" >/dev/null
    has_logged t "trying again"
    same "taken" 3 "$(sql "SELECT sum(cardinality(tokens)) FROM deliveries")"
    let_go
    drained
    same "tokens, each once" "3 3" "$(tokens t)"
    ends t TERM 0
}

# Confirming takes 50 ms a batch, so the grace is over long before the last batch.
a_dead_claim_is_freed_during_a_backlog()
{
    sql "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(0.05); RETURN OLD; END';
         CREATE TRIGGER slow BEFORE DELETE ON deliveries FOR EACH ROW EXECUTE FUNCTION dawdle()"
    add_accounts 8101 8497
    sql "INSERT INTO owners (queue, owner) VALUES ('mailroom', 1);
         WITH old AS (
             UPDATE tokens SET xid = '0' FROM accounts a
             WHERE a.id = account AND a.login IN ('u8101', 'u8102', 'u8103')
             RETURNING tokens.id
         )
         INSERT INTO deliveries (queue, owner, tokens) SELECT 'mailroom', 1, array_agg(id) FROM old"
    MAILROOM_GRACE=300 run s
    drained
    same "tokens, each once" "397 397" "$(tokens s)"
    same "freed only with the last line" 0 "$(tail -n 1 "$server_dir/s.out" | grep -c u8101)"
    ends s TERM 0
    sql "DROP TRIGGER slow ON deliveries; DROP FUNCTION dawdle()"
}

# Three tokens were written and not yet confirmed when an asynchronous standby is promoted. The
# standby knows the first as taken and the second as waiting. It has given the id of the third to
# another token.
a_promoted_standby_has_forgotten_the_claims()
{
    hold_confirming
    run p
    has_logged p "in shared mode"
    add_accounts 6001 6003
    until_true "$one_waits"
    same "written" "3 3" "$(tokens p)"
    sql "ALTER ROLE collector CONNECTION LIMIT 0"
    end_sessions
    let_go
    sql "UPDATE deliveries SET tokens = tokens[1:1];
         UPDATE tokens SET xid = pg_current_xact_id()
         FROM accounts a WHERE a.id = account AND a.login IN ('u6002', 'u6003');
         UPDATE tokens SET secret = decode(repeat('ab', 32), 'hex')
         FROM accounts a WHERE a.id = account AND a.login = 'u6003'"
    sql "ALTER ROLE collector CONNECTION LIMIT -1"
    drained
    same "the third one's successor as well, and nothing twice" "4 3" "$(tokens p)"
    same "its line" 1 "$(sed -n 2p "$server_dir/p.out" | grep -c '^1,u6003@x,u6003,q6urq')"
    ends p TERM 0
}

# v hangs with a line that is out and not confirmed. When v has not renewed its lease for as long as
# a lease lasts, w delivers the tokens again. v finds out, and goes on.
a_hanging_collector_loses_its_lease()
{
    export MAILROOM_LEASE=1000
    run v
    has_logged v "in shared mode"
    hold_confirming
    add_accounts 9101 9105
    until_true "$one_waits"
    kill -STOP "$(pid_of v)"
    sql "SELECT pg_cancel_backend($(who_waits))" >/dev/null
    let_go
    run w
    has_logged w "of another collector, which hangs"
    drained
    kill -CONT "$(pid_of v)"
    has_logged v "took over"
    add_accounts 9106 9110
    drained
    same "one line twice, nothing lost" "15 10" "$(tokens v w)"
    ends v TERM 0
    ends w TERM 0
    unset MAILROOM_LEASE
}

# Others found nothing of the owners 42 to 44. 42 has come back, and 43 comes back while they are
# being forgotten: it holds its row until the statement that forgets waits for it.
who_has_come_back_is_not_forgotten()
{
    sql "INSERT INTO owners (queue, owner, renewed) VALUES ('mailroom', 42, 1), ('mailroom', 43, 0),
         ('mailroom', 44, 0)"
    {
        leave_server_session
        echo "BEGIN; UPDATE owners SET renewed = renewed + 1 WHERE owner = 43; SELECT 'renewed';"
        until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND query LIKE '%mailroom_peers%'"
        echo "COMMIT;"
    } | psql -v ON_ERROR_STOP=1 -qAtX >"$server_dir/renewed" &
    until grep -qs renewed "$server_dir/renewed"; do sleep 0.05; done
    sql "SELECT FROM mailroom_peers('mailroom', 1, 'shared', 'x', (SELECT epoch FROM jobs), false,
        gone => '{42,43,44}', counters => '{0,0,0}', hangs => '{f,f,f}')" >"$server_dir/forget.log"
    same "who is still known" "42 43" "$(sql "SELECT string_agg(owner::text, ' ' ORDER BY owner)
        FROM owners WHERE owner IN (42, 43, 44)")"
    sql "DELETE FROM owners WHERE owner IN (42, 43)"
}

# A session keeps the locks 0 to 20. So the owners 1 to 20 are alive, but 0 is nobody, whoever has
# its lock. 21 is dead.
a_dead_one_among_many_is_found()
{
    mkfifo "$server_dir/many"
    psql -qAtX <"$server_dir/many" >/dev/null &
    exec 6>"$server_dir/many"
    run x
    has_logged x "in shared mode"
    echo "SELECT pg_advisory_lock(n) FROM generate_series(0, 20) AS n;" >&6
    until_true "SELECT count(*) = 21 FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 0 AND objid BETWEEN 0 AND 20"
    sql "BEGIN;
         INSERT INTO owners (queue, owner) SELECT 'mailroom', n FROM generate_series(0, 21) AS n
         ON CONFLICT DO NOTHING;
         INSERT INTO accounts (email, login) VALUES ('many@x', 'many'), ('free@x', 'free');
         WITH old AS (UPDATE tokens AS t SET xid = '0' FROM accounts AS a
                      WHERE a.id = account AND a.login IN ('many', 'free') RETURNING t.id, a.login)
         INSERT INTO deliveries (queue, owner, tokens)
         SELECT 'mailroom', CASE login WHEN 'many' THEN 21 ELSE 0 END, ARRAY[id] FROM old;
         COMMIT"
    drained
    same "tokens of the dead one and of nobody" "2 2" "$(tokens x)"
    ends x TERM 0
    printf '\\q\n' >&6
    exec 6>&-
    sql "DELETE FROM owners WHERE owner BETWEEN 1 AND 21"
}

main
