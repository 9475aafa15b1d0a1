#!/bin/sh
# The bell: producers announce only while a collector sleeps, and no token waits for a wake-up that
# never comes. The health check, which would hide a missed wake-up, is an hour away.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

export MAILROOM_HEALTHCHECK_INTERVAL=3600000 MAILROOM_GRACE=200

main()
{
    start_server -c max_prepared_transactions=2
    migrate
    sql "SELECT mailroom_announce('bell')" >/dev/null
    tokens_from_before_the_bell_are_found
    silent_ones_are_found_beside_others
    a_sleeping_collector_hears_of_tokens
    a_lost_session_is_not_deaf
    the_last_transaction_may_be_silent
    nobody_announces_under_a_backlog
    producers_are_silent_while_a_batch_fills
    the_change_is_noticed
    many_changes_at_once_are_one_question
    both_of_two_that_share_hear_of_tokens
    a_producer_can_be_silent
    echo "no wake-up is lost"
}

# The transactions insert while nobody holds the bell, and commit when somebody does.
tokens_from_before_the_bell_are_found()
{
    open_session one 6
    echo "BEGIN; SAVEPOINT a; $(account 1); ROLLBACK TO a; SAVEPOINT b; $(account 2);" >&6
    sql "BEGIN; $(account 3); PREPARE TRANSACTION 'three'"
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    run a
    has_logged a collecting
    asleep
    echo "COMMIT;" >&6
    delivered a 1
    sql "COMMIT PREPARED 'three'"
    delivered a 2
    exec 6>&-
}

# Transactions run that have inserted no token: one in another database, and a prepared one that
# nobody will ever end. The silent ones are a transaction whose token is in a partition, and a
# prepared one.
silent_ones_are_found_beside_others()
{
    ends a TERM 0
    sql "CREATE DATABASE other" >/dev/null
    open_session elsewhere 6 other
    echo "BEGIN; CREATE TABLE long AS SELECT 1;" >&6
    sql "CREATE TABLE others (); BEGIN; DROP TABLE others; PREPARE TRANSACTION 'orphan'"
    sql "CALL mailroom_partition()"
    open_session silent 8
    echo "BEGIN; $(account 24);" >&8
    sql "BEGIN; $(account 25); PREPARE TRANSACTION 'silent'"
    until_true "SELECT count(*) = 2 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    run a
    has_logged a collecting
    asleep
    echo "COMMIT;" >&8
    delivered a 1
    sql "COMMIT PREPARED 'silent'"
    delivered a 2
    exec 8>&-
    asleep
    sql "$(account 26)"
    delivered a 3
    echo "ROLLBACK;" >&6
    exec 6>&-
    sql "ROLLBACK PREPARED 'orphan'"
    sql "SELECT mailroom_unpartition()" >/dev/null
}

a_sleeping_collector_hears_of_tokens()
{
    for n in 4 5 6 7 8; do
        asleep
        sql "$(account $n)"
        delivered a $((n - 1))
    done
    # A transaction already has its number when the bell is taken, and inserts only then.
    open_session late 6
    echo "BEGIN; SELECT pg_current_xact_id();" >&6
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    asleep
    echo "$(account 9); COMMIT;" >&6
    delivered a 8
    exec 6>&-
}

a_lost_session_is_not_deaf()
{
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'collector'" >/dev/null
    sql "$(account 10)"
    delivered a 9
    asleep
    sql "$(account 11)"
    delivered a 10
}

# No later transaction has ended when the collector takes the bell. So the snapshot of its look
# lists no running transaction, and the producer's number is the snapshot's xmax.
the_last_transaction_may_be_silent()
{
    ends a TERM 0
    open_session last 6
    echo "SELECT pg_advisory_lock(mailroom_bell());" >&6
    until_true "SELECT EXISTS (SELECT $bell_is_taken)"
    run a
    has_logged a collecting
    echo "SELECT pg_advisory_unlock(mailroom_bell()); BEGIN; $(account 22);" >&6
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    asleep
    echo "COMMIT;" >&6
    drained
    exec 6>&-
}

# The collector lets the bell go when it has more than a batch, and takes it again later.
nobody_announces_under_a_backlog()
{
    add_accounts 1001 3000
    drained
    asleep
    ends a TERM 0
    same "announcements while nobody sleeps" 0 "$(psql -qAtX -c 'LISTEN token_insert' \
        -c "$(account 12)" -c 'SELECT 1' | grep -c 'notification "token_insert"')"
    run a
    drained
    same "announcements while somebody sleeps" 1 "$(asleep; psql -qAtX -c 'LISTEN token_insert' \
        -c "$(account 13)" -c 'SELECT 1' | grep -c 'notification "token_insert"')"
    drained
}

# 4000 tokens, 20 in a transaction, for batches that fill in less than their timeout. The first of
# them are announced. If the collector held the bell while its batch fills, nearly all would be
# announced.
producers_are_silent_while_a_batch_fills()
{
    ends a TERM 0
    # No batch fills, so nothing but the announcements themselves tells that they are frequent.
    MAILROOM_HEALTHCHECK_INTERVAL=60000 MAILROOM_BATCH_LIMIT=5000 MAILROOM_BATCH_TIMEOUT=5000 run a
    has_logged a collecting
    asleep
    open_session listener 6
    echo "LISTEN token_insert; SELECT 'listening';" >&6
    listener_says listening
    # shellcheck disable=SC2016 # the dollars are SQL's
    PGOPTIONS='-c synchronous_commit=off' sql 'DO $$ BEGIN FOR i IN 1..200 LOOP
        INSERT INTO accounts (email, login) SELECT x || $a$@x$a$, x
            FROM (SELECT format($f$s%s.%s$f$, i, n) FROM generate_series(1, 20) AS n) AS names (x);
        COMMIT;
        PERFORM pg_sleep(0.01);
    END LOOP; END $$'
    echo "SELECT 'counted';" >&6
    listener_says counted
    exec 6>&-
    rung=$(grep -c 'notification "token_insert"' "$server_dir/listener.out" || true)
    echo "4000 tokens came fast; $rung of them were announced"
    [ "$rung" -gt 0 ] || failed "nobody rang at all"
    [ "$rung" -lt 2000 ] || failed "$rung of 4000 tokens were announced"
    drained
    # Then the load is over, and each token is announced again.
    asleep
    sql "$(account 21)"
    drained
    ends a TERM 0
    run a
    has_logged a collecting
}

# The collector sleeps with the bell, and then has no number of it any more.
the_change_is_noticed()
{
    asleep
    sql "SELECT mailroom_announce('each')" >/dev/null
    add_accounts 3001 3030 # more than a batch, with which it lets the bell go
    sql "$(account 14)"
    drained
    if grep -q lost "$server_dir/a.log"; then failed "the session was lost"; fi
    sql "SELECT mailroom_announce('bell')" >/dev/null
    asleep
    sql "$(account 15)"
    drained
    ends a TERM 0
}

# Anybody can send the notification of mailroom_announce. The collector stands still meanwhile, so
# that it finds all of them at once.
many_changes_at_once_are_one_question()
{
    run many
    has_logged many collecting
    asleep
    kill -STOP "$(pid_of many)"
    for n in 1 2 3 4 5 6 7 8 9 10; do
        echo "NOTIFY token_insert, 'announce $n';"
        echo "NOTIFY token_insert, 'announce ten$n';"
        echo "NOTIFY token_insert, 'announce twenty$n';"
    done | psql -v ON_ERROR_STOP=1 -qAtX
    kill -CONT "$(pid_of many)"
    sql "$(account 23)"
    drained
    ends many TERM 0
    if grep -q lost "$server_dir/many.log"; then failed "the session was lost"; fi
}

# The collector that has the bell dies, and so does the next.
both_of_two_that_share_hear_of_tokens()
{
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" \
        MAILROOM_DEQUEUE=shared run switch --switch-mode
    ends switch none 0
    export MAILROOM_DEQUEUE=shared
    run b
    run c
    has_logged b collecting
    has_logged c collecting
    asleep
    sql "$(account 16)"
    drained
    asleep
    sql "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE $holds_bell" >/dev/null
    sql "$(account 17)"
    drained
    ends b TERM 0
    asleep
    sql "$(account 18)"
    drained
    ends c TERM 0
    unset MAILROOM_DEQUEUE
}

a_producer_can_be_silent()
{
    MAILROOM_DEQUEUE=shared run d
    has_logged d collecting
    asleep
    sql "SET mailroom.announce = 'never'; BEGIN; $(account 19); PREPARE TRANSACTION 'never'"
    sql "COMMIT PREPARED 'never'"
    # The silent producer's token is found when the next transaction announces a token.
    sql "$(account 20)"
    drained
    ends d TERM 0
}

account() # number
{
    echo "INSERT INTO accounts (email, login) VALUES ('b$1@x', 'b$1')"
}

holds_bell="locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
    AND classid::bigint << 32 | objid::bigint = mailroom_bell()"
bell_is_taken="FROM pg_locks WHERE $holds_bell"

asleep()
{
    until_true "SELECT EXISTS (SELECT $bell_is_taken) AND NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE usename = 'collector' AND state <> 'idle')"
}

# Opens a psql that takes its statements from a pipe, until the pipe is closed.
open_session() # name, descriptor, database (or none)
{
    mkfifo "$server_dir/$1"
    psql -qAtX ${3:+-d "$3"} <"$server_dir/$1" >"$server_dir/$1.out" &
    eval "exec $2>\"$server_dir/$1\""
}

listener_says() # text
{
    lib_deadline=$(($(date +%s) + 60))
    until grep -q "$1" "$server_dir/listener.out"; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "the listener never said: $1"
        sleep 0.05
    done
}

delivered() # name, tokens
{
    lib_deadline=$(($(date +%s) + 60))
    until [ "$(awk -F, '{ n += NF / 5 } END { print n + 0 }' "$server_dir/$1.out")" -ge "$2" ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "$1 never wrote token $2"
        sleep 0.05
    done
}

main
