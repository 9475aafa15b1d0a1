#!/bin/sh
# Several collectors share a queue, even when some hang or die. A used queue changes its mode only
# when it is told to, and loses nothing.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/test_lib.sh
. "$SOURCE_DIR/collector/test_lib.sh"

main()
{
    start_server
    migrate
    export MAILROOM_DEQUEUE=shared MAILROOM_GRACE=200
    the_first_switch_takes_its_time
    two_share_the_work
    what_the_dead_claimed_is_freed
    what_cannot_be_sent_is_passed
    what_cannot_be_sent_takes_no_place
    what_is_passed_hides_nothing
    what_is_passed_shortens_no_line
    nothing_is_open_while_the_reader_is_stopped
    a_line_that_sticks_keeps_nothing_from_others
    a_lost_session_writes_nothing_twice
    a_failed_confirmation_keeps_the_claims
    a_canceled_move_delays_nothing
    a_delivery_longer_than_a_line_makes_two
    a_dead_claim_is_freed_during_a_backlog
    a_promoted_standby_has_forgotten_the_claims
    a_hanging_collector_loses_its_lease
    who_has_come_back_is_not_forgotten
    a_dead_one_among_many_is_found
    the_mode_changes_only_when_told
    echo "all promises of sharing hold"
}

# In a restored dump the first collector records all waiting tokens in deliveries. A trigger
# simulates a large backlog.
the_first_switch_takes_its_time()
{
    add_accounts 9001 9005
    sql "UPDATE jobs SET cluster = 'elsewhere'"
    sql "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
         CREATE TRIGGER slow BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION slow()"
    run q
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE usename = 'collector' AND wait_event = 'PgSleep'"
    ends q TERM 0
    end_sessions
    sql "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN
                  IF current_setting(''statement_timeout'') <> ''0'' THEN
                      RAISE query_canceled;
                  END IF;
                  RETURN NEW;
              END'"
    run r
    has_logged r "with others"
    sql "DROP TRIGGER slow ON deliveries; DROP FUNCTION slow()"
    drained
    same "what waited" "5 5" "$(tokens r)"
    ends r TERM 0
}

two_share_the_work()
{
    run a
    run b
    has_logged a "with others"
    has_logged b "with others"
    at=1
    while [ "$at" -lt 2000 ]; do
        add_accounts "$at" $((at + 19))
        at=$((at + 20))
    done
    drained
    same "tokens, each once" "2000 2000" "$(tokens a b)"
    [ -s "$server_dir/a.out" ] && [ -s "$server_dir/b.out" ] || failed "one of two did all the work"
    same "over the limit" 0 "$(cat "$server_dir/a.out" "$server_dir/b.out" | awk -F, 'NF > 50' | wc -l)"
    ends a TERM 0
}

# Collector c takes tokens and writes a line, and is killed before it can confirm that line.
what_the_dead_claimed_is_freed()
{
    ends b TERM 0
    hold_confirming
    run c
    has_logged c "with others"
    add_accounts 2001 3000
    until_true "$one_waits_to_confirm"
    ends c KILL 137
    end_sessions
    same "taken by the dead" 10 "$(sql "SELECT sum(cardinality(tokens)) FROM deliveries")"
    let_confirming_go
    run d
    drained
    has_logged d "of another collector, which is gone"
    same "nothing lost, one batch twice" "3010 3000" "$(tokens a b c d)"
    ends d TERM 0
}

what_cannot_be_sent_is_passed()
{
    sql "INSERT INTO accounts (email, login) SELECT 'x' || n, 'x' || n FROM generate_series(1, 3000) n;
         UPDATE tokens SET expires_at = 1 FROM accounts a WHERE a.id = account AND login LIKE 'x%';
         INSERT INTO tokens (action, account, secret) SELECT 'activation', min(id), '\x00' FROM accounts"
    add_accounts 3001 3005
    run e
    drained
    same "the others come out" "5 5" "$(tokens e)"
    same "dead letters" 1 "$(sql "SELECT count(*) FROM dead_letters")"
    # A collector that comes alone waits for nobody.
    sql "INSERT INTO tokens (action, account, secret) SELECT 'activation', min(id), '\x01' FROM accounts"
    drained
    same "dead letters" 2 "$(sql "SELECT count(*) FROM dead_letters")"
    # The log may spread the number over several lines, one a second.
    lib_deadline=$(($(date +%s) + 60))
    until [ "$(passed_over e)" = 3000 ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "$(passed_over e) passed over, not 3000"
        sleep 0.05
    done
    ends e TERM 0
}

# A full batch comes after more rows than a read examines.
what_is_passed_hides_nothing()
{
    add_accounts 7001 7003
    sql "INSERT INTO accounts (email, login) SELECT 'y' || n, 'y' || n FROM generate_series(1, 2500) n;
         UPDATE accounts SET status = 'suspended' WHERE login LIKE 'y%'"
    add_accounts 7004 7010
    MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000 run q
    drained
    same "a full batch" "10 10" "$(tokens q)"
    ends q TERM 0
}

# Eleven tokens in the order of their ids; the second has a code that no line carries.
what_cannot_be_sent_takes_no_place()
{
    export MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000
    run s
    has_logged s "with others"
    sql "BEGIN;
         INSERT INTO accounts (email, login) SELECT 'z' || n || '@x', 'z' || n FROM generate_series(1, 11) n;
         UPDATE tokens SET code = 'x' FROM accounts a WHERE a.id = account AND a.login = 'z2';
         COMMIT"
    drained
    same "tokens that can be sent" "10 10" "$(tokens s)"
    same "lines" 1 "$(wc -l <"$server_dir/s.out")"
    same "dead letters" 3 "$(sql "SELECT count(*) FROM dead_letters")"
    ends s TERM 0
    export MAILROOM_BATCH_TIMEOUT=20 MAILROOM_HEALTHCHECK_INTERVAL=1000
}

# Two in 35 tokens have a code that no line can carry, and three belong to suspended accounts. The
# tokens behind them fill the lines.
what_is_passed_shortens_no_line()
{
    dead=$(sql "SELECT count(*) FROM dead_letters")
    sql "BEGIN;
         INSERT INTO accounts (email, login)
         SELECT 'p' || n || '@x', 'p' || n FROM generate_series(1, 1400) AS n;
         UPDATE tokens SET code = 'x' FROM accounts AS a
         WHERE a.id = account AND a.login LIKE 'p%' AND substr(a.login, 2)::int % 35 IN (1, 2);
         UPDATE accounts SET status = 'suspended'
         WHERE login LIKE 'p%' AND substr(login, 2)::int % 35 IN (3, 17, 34);
         COMMIT"
    MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000 run q
    drained
    same "tokens, each once" "1200 1200" "$(tokens q)"
    same "fields of a line" 50 "$(awk -F, '{ print NF }' "$server_dir/q.out" | sort -u | paste -sd ' ')"
    same "dead letters" 80 "$(($(sql "SELECT count(*) FROM dead_letters") - dead))"
    ends q TERM 0
}

passed_over() # name
{
    sed -n 's/.*passed over: \([0-9]*\) expired unsent.*/\1/p' "$server_dir/$1.log" |
        awk '{ n += $1 } END { print n + 0 }'
}

nothing_is_open_while_the_reader_is_stopped()
{
    run_unread f
    add_accounts 3006 4000
    until_true "SELECT count(*) > 0 FROM deliveries"
    until_true "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'collector'
        AND (backend_xmin IS NOT NULL OR state <> 'idle')"
    run g
    drained
    ends f TERM "0|75"
    dd if="$server_dir/f.fifo" of="$server_dir/f.out" bs=64k iflag=nonblock 2>/dev/null || true
    exec 5>&-
    drained
    [ "$(tokens f g | cut -d' ' -f2)" = 995 ] || failed "lost: $(tokens f g) of 995"
    ends g TERM 0
}

# The pipe has room for one line of y and a part of the second. y gives back the tokens that it took
# for further lines, and z delivers these. Only the line that was begun stays with y.
a_line_that_sticks_keeps_nothing_from_others()
{
    export MAILROOM_BATCH_LIMIT=400
    run_unread y
    add_accounts 10001 14000
    until_true "SELECT $waiting_tokens = 3600"
    run z
    until_true "SELECT $waiting_tokens <= 400"
    exec 6<"$server_dir/y.fifo" 5>&-
    cat <&6 >"$server_dir/y.out" &
    reader=$!
    exec 6<&-
    drained
    ends y TERM 0
    ends z TERM 0
    wait "$reader"
    same "tokens, each once" "4000 4000" "$(tokens y z)"
    export MAILROOM_BATCH_LIMIT=10
}

# Starts a collector that writes to a pipe. Descriptor 5 keeps the pipe open, and nobody reads.
run_unread() # name
{
    mkfifo "$server_dir/$1.fifo"
    exec 5<>"$server_dir/$1.fifo"
    : >"$server_dir/$1.log"
    "$BUILD_DIR/bin/mailroom-collector" >"$server_dir/$1.fifo" 2>"$server_dir/$1.log" &
    eval "pid_$1=$!"
    at_exit "kill -KILL $! 2>/dev/null"
    has_logged "$1" "with others"
}

a_lost_session_writes_nothing_twice()
{
    run h
    has_logged h "with others"
    at=4001
    while [ "$at" -lt 5000 ]; do
        add_accounts "$at" $((at + 9))
        sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE usename = 'collector'" >/dev/null
        at=$((at + 10))
    done
    drained
    same "tokens, each once" "1000 1000" "$(tokens h)"
    same "lines of another form in the log" "" "$(grep -v '^[0-9/]* [0-9:]* \[' "$server_dir/h.log")"
    ends h TERM 0
}

# t loses its session while a line is not confirmed, and its next session fails to confirm that line.
# The tokens stay t's own.
a_failed_confirmation_keeps_the_claims()
{
    hold_confirming
    run t
    has_logged t "with others"
    add_accounts 7101 7103
    until_true "$one_waits_to_confirm"
    first=$(who_waits_to_confirm)
    sql "SELECT pg_terminate_backend($first)" >/dev/null
    until_true "$one_waits_to_confirm AND pid <> $first"
    sql "SELECT pg_cancel_backend($(who_waits_to_confirm))" >/dev/null
    has_logged t "trying again"
    same "taken" 3 "$(sql "SELECT sum(cardinality(tokens)) FROM deliveries")"
    let_confirming_go
    drained
    same "tokens, each once" "3 3" "$(tokens t)"
    ends t TERM 0
}

# The statement that is cancelled confirms a line, and a take travels with it. The take is dropped,
# and made again later.
a_canceled_move_delays_nothing()
{
    hold_confirming
    run r
    has_logged r "with others"
    add_accounts 8001 8050
    until_true "$one_waits_to_confirm"
    sql "SELECT pg_cancel_backend($(who_waits_to_confirm))" >/dev/null
    has_logged r "trying again"
    let_confirming_go
    drained
    same "tokens, each once" "50 50" "$(tokens r)"
    same "the next line's first" u8011 "$(sed -n 2p "$server_dir/r.out" | cut -d, -f3)"
    grep -q "of another" "$server_dir/r.log" && failed "r calls its own another's"
    same "who says that there is something in hand" 0 "$(sql "SELECT count(*) FROM pg_locks
        WHERE locktype = 'advisory' AND mode = 'ShareLock'
          AND classid::bigint << 32 | objid::bigint IN (SELECT owner FROM owners)")"
    ends r TERM 0
}

# u8051 to u8055 are written but not confirmed when their session ends. Meanwhile their delivery
# grows.
a_delivery_longer_than_a_line_makes_two()
{
    hold_confirming
    run r
    has_logged r "with others"
    add_accounts 8051 8055
    until_true "$one_waits_to_confirm"
    sql "ALTER ROLE collector CONNECTION LIMIT 0"
    end_sessions
    let_confirming_go
    add_accounts 8056 8075
    sql "UPDATE tokens SET xid = '0' FROM accounts a
         WHERE a.id = account AND a.login LIKE 'u80__' AND a.login > 'u8055';
         UPDATE deliveries SET tokens = tokens || (SELECT array_agg(t.id ORDER BY t.id) FROM tokens AS t
             JOIN accounts AS a ON a.id = t.account WHERE a.login LIKE 'u80__' AND a.login > 'u8055')"
    sql "ALTER ROLE collector CONNECTION LIMIT -1"
    drained
    same "tokens, each once" "25 25" "$(tokens r)"
    same "lines, and their fields" "25 50 50 " "$(awk -F, '{ printf "%d ", NF }' "$server_dir/r.out")"
    ends r TERM 0
}

# Confirming takes 50 ms a batch, so the grace is over long before the last batch.
a_dead_claim_is_freed_during_a_backlog()
{
    sql "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(0.05); RETURN OLD; END';
         CREATE TRIGGER slow BEFORE DELETE ON deliveries FOR EACH ROW EXECUTE FUNCTION dawdle()"
    add_accounts 8101 8247
    sql "INSERT INTO owners (queue, owner) VALUES ('mailroom', 1);
         WITH old AS (
             UPDATE tokens SET xid = '0' FROM accounts a
             WHERE a.id = account AND a.login IN ('u8101', 'u8102', 'u8103')
             RETURNING tokens.id
         )
         INSERT INTO deliveries (queue, owner, tokens) SELECT 'mailroom', 1, array_agg(id) FROM old"
    MAILROOM_GRACE=300 run s
    drained
    same "tokens, each once" "147 147" "$(tokens s)"
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
    has_logged p "with others"
    add_accounts 6001 6003
    until_true "$one_waits_to_confirm"
    same "written" "3 3" "$(tokens p)"
    sql "ALTER ROLE collector CONNECTION LIMIT 0"
    end_sessions
    let_confirming_go
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
    has_logged v "with others"
    hold_confirming
    add_accounts 9101 9105
    until_true "$one_waits_to_confirm"
    kill -STOP "$(pid_of v)"
    sql "SELECT pg_cancel_backend($(who_waits_to_confirm))" >/dev/null
    let_confirming_go
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
        echo "BEGIN; UPDATE owners SET renewed = renewed + 1 WHERE owner = 43; SELECT 'renewed';"
        until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND query LIKE 'EXECUTE forget%'"
        echo "COMMIT;"
    } | psql -v ON_ERROR_STOP=1 -qAtX >"$server_dir/renewed" &
    until grep -qs renewed "$server_dir/renewed"; do sleep 0.05; done
    { # a statement of the collector, from its file
        echo "PREPARE forget AS"
        cat "$SOURCE_DIR/collector/sql/owners.sql"
        echo "; EXECUTE forget('mailroom', '1', '{42,43,44}', '{0,0,0}')"
    } | psql -v ON_ERROR_STOP=1 -qAtX >"$server_dir/forget.log"
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
    has_logged x "with others"
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

the_mode_changes_only_when_told()
{
    MAILROOM_DEQUEUE=cursor run i
    ends i none 78
    has_logged i "run mailroom-collector --switch-mode"
    MAILROOM_DEQUEUE=cursor run k --switch-mode
    ends k none 75
    has_logged k "permission denied"
    add_accounts 5001 5005
    run j
    has_logged j "with others"
    as_administrator cursor 75
    has_logged k "a collector is running"
    MAILROOM_QUEUE_NAME=other as_administrator cursor 78
    has_logged k "MAILROOM_QUEUE_NAME is 'other'"
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=template1" run k --switch-mode
    ends k none 78
    has_logged k "lacks what migrations/000001_init.up.sql brings"
    drained
    ends j TERM 0
    same "before the switch" "5 5" "$(tokens j)"

    # During the switch a transaction is open that has its number but has not inserted yet.
    mkfifo "$server_dir/early"
    psql -qAtX <"$server_dir/early" >/dev/null &
    exec 6>"$server_dir/early"
    echo "BEGIN; SELECT pg_current_xact_id();" >&6
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    add_accounts 5006 5010
    as_administrator cursor 0
    has_logged k "5 tokens wait"
    MAILROOM_DEQUEUE=cursor run m
    has_logged m collecting
    drained
    echo "INSERT INTO accounts (email, login) VALUES ('early', 'early'); COMMIT;" >&6
    exec 6>&-
    until_true "SELECT count(*) = 1 FROM accounts WHERE email = 'early'"
    drained
    sql "INSERT INTO attempts (token, number, run, outcome) SELECT max(id), 1, 1, 'dead' FROM tokens;
         SELECT mailroom_retry(max(id)) FROM tokens" >/dev/null
    drained
    ends m TERM 0
    same "after the switch to the cursor, and one by hand" "7 6" "$(tokens m)"

    add_accounts 5011 5015
    as_administrator shared 0
    run o
    add_accounts 5016 5020
    drained
    ends o TERM 0
    same "after the switch back" "10 10" "$(tokens o)"
    # skip-locked is the older name of shared.
    MAILROOM_DEQUEUE=skip-locked run p
    has_logged p "with others"
    ends p TERM 0
}

as_administrator() # mode, exit code
{
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" MAILROOM_DEQUEUE=$1 \
        run k --switch-mode
    ends k none "$2"
}

# From here on nobody can confirm a line, until let_confirming_go.
hold_confirming()
{
    sql "CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN OLD; END';
         CREATE TRIGGER held BEFORE DELETE ON deliveries FOR EACH ROW
             EXECUTE FUNCTION wait_for_test()"
    rm -f "$server_dir/hold"
    mkfifo "$server_dir/hold"
    psql -qAtX <"$server_dir/hold" >/dev/null &
    exec 7>"$server_dir/hold"
    echo "SELECT pg_advisory_lock(4711);" >&7
    until_true "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"
}

one_waits_to_confirm="SELECT count(*) = 1 FROM pg_locks
    WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"

who_waits_to_confirm()
{
    sql "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"
}

let_confirming_go()
{
    exec 7>&-
    sql "DROP TRIGGER held ON deliveries; DROP FUNCTION wait_for_test()"
}

end_sessions()
{
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'collector'" >/dev/null
    until_true "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'collector'"
}

main
