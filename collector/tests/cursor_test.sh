#!/bin/sh
# Designs of the cursor that lose or duplicate tokens, each beside the collector's own design in the
# same situation. The wrong design must do its harm, which proves that the test creates that
# situation.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

statements=$SOURCE_DIR/collector/tests/sql
lock_cursor="SELECT FROM cursors WHERE lane = 1 ORDER BY n DESC LIMIT 1 FOR UPDATE"

main()
{
    start_server -c synchronous_commit=off -c autovacuum=off
    migrate
    a_snapshot_kept_over_a_crash_loses
    for limit in 1 4; do
        add_accounts_late
        two_take "$limit" "SELECT FROM mailroom_take('mailroom', 2, NULL, $limit, 1);"
        same "locked first, limit $limit" "1 2 3 4 5" "$(taken)"
    done
    locking_and_reading_at_once_loses
    locking_and_reading_at_once_doubles
    reading_from_where_the_oldest_runs_is_slow
    echo "the wrong cursors lose and double, and ours does not"
}

# Transaction numbers that were never flushed come again after a crash. The collector has moved the
# cursor to a snapshot in which they have ended. Then the server dies and forgets the move. A
# collector that kept this snapshot would believe that it has seen tokens which come later.
a_snapshot_kept_over_a_crash_loses()
{
    run first # makes the cursor
    has_logged first collecting
    ends first TERM 0
    sql "CHECKPOINT"
    for writer in $(sql "SELECT pid FROM pg_stat_activity WHERE backend_type LIKE '%writer'"); do
        kill -STOP "$writer"
    done
    # shellcheck disable=SC2016 # the dollars are SQL's
    sql 'DO $$ BEGIN FOR i IN 1..100 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$'
    add_accounts 1 1
    run a
    has_logged a collecting
    drained
    kept=$(sql "SELECT pg_current_snapshot()")
    crash_server
    resume_server
    same "what was never flushed" 0 "$(sql "SELECT count(*) FROM tokens")"
    add_accounts 2 11
    same "tokens whose number came again" 10 \
        "$(sql "SELECT count(*) FROM tokens WHERE pg_visible_in_snapshot(xid, '$kept')")"
    drained
    ends a TERM 0
    same "tokens of the collector, each once" "11 11" "$(tokens a)"

    add_accounts 12 16
    same "waiting tokens" 5 "$(sql "SELECT count(*) FROM mailroom_untaken('mailroom')")"
    same "moves that were refused, and what waits behind the kept snapshot" "0 0" "$(psql -v ON_ERROR_STOP=1 -qAtX <<END | paste -sd ' '
BEGIN;
SELECT max(n) || ';$kept;$kept;0;0' AS place FROM cursors WHERE lane = 1 \\gset
SELECT count(*) FROM mailroom_settle_lines('mailroom', 1, '{}', '{}', place => :'place');
SELECT count(*) FROM mailroom_untaken('mailroom');
ROLLBACK;
END
)"
}

# The second collector waits for the cursor in the statement that reads. After the wait this
# statement has the new cursor, but sees the tokens as they were before: it does not see 2
# and 3, and moves past them to 4.
locking_and_reading_at_once_loses()
{
    add_accounts_late
    two_take 1 "EXECUTE take_at_once('mailroom', 1, 1000, 2, 1, 1, 0);"
    same "locked and read at once, limit 1" "1 4 5" "$(taken)"
}

# With a larger batch, the second collector takes 5, reaches the end of its own snapshot, and makes
# this snapshot the cursor. By this snapshot the late transaction still runs, so 1 to 3 are taken
# again.
locking_and_reading_at_once_doubles()
{
    add_accounts_late
    two_take 4 "EXECUTE take_at_once('mailroom', 4, 1000, 2, 4, 1, 0);"
    same "locked and read at once, limit 4" "1 1 2 2 3 3 4 5" "$(taken)"
}

# One token waits behind 20,000 tokens of an open transaction. Pages are counted, not time.
reading_from_where_the_oldest_runs_is_slow()
{
    look="SELECT * FROM mailroom_take('mailroom', 9, NULL, 10, 10)"
    lease="SELECT * FROM mailroom_take('mailroom', 9, NULL, 10, 1, answers => true)"
    take_all 9
    add_accounts 6 6
    look_before=$(pages "$look")
    lease_before=$(pages "$lease")
    open_session bulk 5
    echo "BEGIN; INSERT INTO accounts (email, login) SELECT n, n FROM generate_series(1001, 21000) AS n;" >&5
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    add_accounts 7 7
    from_the_oldest=$(pages "SELECT id FROM tokens WHERE action = 'activation'
        AND xid >= pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, id LIMIT 10")
    [ "$from_the_oldest" -gt 200 ] || failed "the situation costs nothing: $from_the_oldest pages"
    stays_flat look "$look_before" "$(pages "$look")"
    stays_flat lease "$lease_before" "$(pages "$lease")"
    echo "ROLLBACK;" >&5
    close_session bulk 5
}

stays_flat() # what, pages before, pages with the open transaction
{
    echo "a $1: $3 pages past 20,000 open tokens, $2 without; read from the oldest transaction on: $from_the_oldest"
    [ "$3" -lt $(($2 + 50)) ] || failed "a $1 takes $3 pages, $2 without the open transaction"
}

# Prints how many pages the execution looks at.
pages() # statement
{
    {
        echo "\\o $server_dir/plan"
        echo "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) $1;"
    } | psql -v ON_ERROR_STOP=1 -qAtX >/dev/null
    awk '/"Shared (Hit|Read) Blocks"/ && n++ < 2 { sub(/,$/, "", $NF); all += $NF } END { print all }' \
        "$server_dir/plan"
}

# Empties the queue. Then 1 to 3 are inserted by a transaction that is still open (`late`),
# and 4 and 5 by a later one that is not.
add_accounts_late()
{
    take_all 9
    sql "DELETE FROM deliveries; DELETE FROM tokens; DELETE FROM accounts"
    open_session late 5
    echo "BEGIN; INSERT INTO accounts (email, login) VALUES ('1', '1'), ('2', '2'), ('3', '3');" >&5
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    sql "INSERT INTO accounts (email, login) VALUES ('4', '4'), ('5', '5')"
}

# The first collector has locked the cursor when the second one comes. Then the open transaction
# commits, and only then the first reads and moves the cursor. A third one takes what is left.
two_take() # limit, what the second one does
{
    open_session first 6
    echo "BEGIN; $lock_cursor;" >&6
    until_true "SELECT count(*) = 2 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    open_session second 7
    {
        cat "$SOURCE_DIR/collector/sql/settings.sql"
        echo "; SET statement_timeout = 0; PREPARE take_at_once AS"
        cat "$statements/take_at_once.sql"
        echo "; $2"
    } >&7
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    echo "COMMIT;" >&5
    close_session late 5
    echo "SELECT FROM mailroom_take('mailroom', 1, NULL, $1, 1); COMMIT;" >&6
    close_session first 6
    close_session second 7
    take_all 3
}

take_all() # owner
{
    for _ in 1 2 3; do
        echo "SELECT FROM mailroom_take('mailroom', $1, NULL, 10, 1);"
    done | psql -v ON_ERROR_STOP=1 -qAtX >/dev/null
}

# Prints the logins of what was taken.
taken()
{
    sql "SELECT string_agg(a.login, ' ' ORDER BY a.login)
         FROM deliveries AS d, unnest(d.tokens) AS w (token)
         JOIN tokens AS t ON t.id = w.token JOIN accounts AS a ON a.id = t.account"
}

open_session() # name, descriptor
{
    rm -f "$server_dir/$1"
    mkfifo "$server_dir/$1"
    psql -v ON_ERROR_STOP=1 -qAtX <"$server_dir/$1" >"$server_dir/$1.out" 2>"$server_dir/$1.log" &
    eval "pid_$1=$!"
    eval "exec $2>\"$server_dir/$1\""
}

# Tells psql to quit. Closing the pipe is not enough, because sessions opened later hold a copy of
# its end.
close_session() # name, descriptor
{
    printf '\\q\n' >&"$2"
    eval "exec $2>&-"
    wait "$(pid_of "$1")" || failed "the statements of $1"
}

main
