#!/bin/sh
# An idle collector sleeps: between two health checks nothing wakes it, with or without the bell, and
# whatever transactions others leave open, and so it does until a server that is silent answers the
# check. Its memory stays small, even with a large batch limit and after a backlog.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    [ -r /proc/self/status ] || { echo "skipped: no /proc here"; exit 77; }
    start_server -c max_prepared_transactions=1
    migrate
    others_work
    export MAILROOM_HEALTHCHECK_INTERVAL=86400000 MAILROOM_BATCH_LIMIT=5000
    waits_for_a_silent_server
    add_accounts 1 1
    for mode in cursor cursor_bell shared_bell shared; do
        case $mode in
        *_bell) sql "SELECT mailroom_announce('bell')" >/dev/null ;;
        *) sql "SELECT mailroom_announce('each')" >/dev/null ;;
        esac
        if [ "$mode" = shared_bell ]; then
            MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" \
                MAILROOM_DEQUEUE=shared run switch --switch-mode
            ends switch none 0
        fi
        MAILROOM_DEQUEUE=${mode%_bell} run "$mode"
        has_logged "$mode" collecting
        # One account has all tokens, because 30000 accounts cost the server two seconds.
        sql "INSERT INTO tokens (action, account)
             SELECT 'activation', (SELECT min(id) FROM accounts) FROM generate_series(1, 30000)"
        drained
        settled "$mode"
        # Others would look at it again and again, and take it for hung after a lease.
        same "locks that show something in hand, $mode" 0 "$(sql "SELECT count(*) FROM pg_locks AS l
            JOIN owners AS o ON o.owner = (l.classid::bigint << 32 | l.objid::bigint)
            WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock'")"
        before=$(switches "$mode") ticks=$(ticks "$mode")
        sql "SELECT pg_sleep(2)" >/dev/null
        same "wake-ups of an idle collector in 2 s, $mode" 0 "$(($(switches "$mode") - before))"
        ticks=$(($(ticks "$mode") - ticks))
        [ "$ticks" -le 5 ] || failed "an idle collector ran for $ticks ticks of 10 ms in 2 s, $mode"
        size=$(awk '/^VmRSS/ { print $2 }' "/proc/$(pid_of "$mode")/status")
        peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$(pid_of "$mode")/status")
        files=$(awk '/^RssFile/ { print $2 }' "/proc/$(pid_of "$mode")/status")
        echo "$mode: $size KiB idle, $peak KiB at most; $files KiB are pages of programs and libraries"
        # A sanitizer needs memory of its own, so a build with one has no limit.
        [ -n "${SANITIZE-}" ] || [ "$size" -le $((12 * 1024)) ] ||
            failed "$size KiB at a limit of 5000"
        ends "$mode" TERM 0
    done
    echo "idle means asleep"
}

# The session takes a server for dead that leaves a check unanswered for 5 s. A scrape wakes the
# collector meanwhile, and it has to sleep again.
waits_for_a_silent_server()
{
    MAILROOM_METRICS=127.0.0.1:0 MAILROOM_HEALTHCHECK_INTERVAL=1000 run unanswered
    has_logged unanswered collecting
    backend=$(sql "SELECT pid FROM pg_stat_activity WHERE usename = 'collector'")
    kill -STOP "$backend"
    sql "SELECT pg_sleep(2)" >/dev/null
    "$SOURCE_DIR/ci/openmetrics" "$(sed -n 's/.*served at //p' "$server_dir/unanswered.log")" >/dev/null ||
        failed "no scrape"
    ticks=$(ticks unanswered)
    sql "SELECT pg_sleep(2)" >/dev/null
    kill -CONT "$backend"
    ticks=$(($(ticks unanswered) - ticks))
    [ "$ticks" -le 50 ] || failed "a collector that waits for an answer ran for $ticks ticks of 10 ms in 2 s"
    ends unanswered TERM 0
}

# Opens a transaction in another database, and a prepared one here. None of them inserts a token.
others_work()
{
    sql "CREATE DATABASE other"
    mkfifo "$server_dir/other"
    psql -qAtX -d other <"$server_dir/other" >/dev/null &
    exec 6>"$server_dir/other"
    echo "BEGIN; CREATE TABLE long AS SELECT 1;" >&6
    sql "CREATE TABLE orphan (); BEGIN; DROP TABLE orphan; PREPARE TRANSACTION 'orphan'"
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
}

switches() # name
{
    awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$(pid_of "$1")/status"
}

# How long it has run, in ticks. One that never sleeps is not woken either.
ticks() # name
{
    awk '{ print $14 + $15 }' "/proc/$(pid_of "$1")/stat"
}

# Waits until the log has its last line about passed tokens, and everything is still.
settled() # name
{
    lib_last=
    lib_deadline=$(($(date +%s) + 30))
    until [ "$lib_last" = "$(switches "$1")" ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "$1 never comes to rest"
        lib_last=$(switches "$1")
        sql "SELECT pg_sleep(1.2)" >/dev/null
    done
}

main
