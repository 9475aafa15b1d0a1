#!/bin/sh
# Tests when a collector may take the queue from another one.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server
    migrate
    a_holder_that_left_is_not_waited_for
    a_dead_holder_is_not_waited_for
    a_lost_holder_gets_the_grace
    a_returning_holder_stands_by
    a_stopped_holder_begins_no_line
    a_hanging_holder_is_replaced
    a_waiting_holder_is_not_replaced
    renewals_do_not_pile_up
    an_administrator_is_asked_seldom
    echo "all promises of standing by hold"
}

a_holder_that_left_is_not_waited_for()
{
    MAILROOM_GRACE=86400000 run a
    has_logged a collecting
    ends a TERM 0
    # The collector gives up the queue and ends at once; the server may take a moment longer.
    until_true "SELECT coalesce(holder, '') = '' FROM jobs"
    MAILROOM_GRACE=86400000 run b
    has_logged b collecting
}

# Collector b is killed. Its name says that it was a process of this machine.
a_dead_holder_is_not_waited_for()
{
    ends b KILL 137
    MAILROOM_GRACE=86400000 run c
    has_logged c collecting
    ends c TERM 0
}

# A collector from another machine has left its name. A new collector that finds the lock free does
# not take the queue before the grace is over.
a_lost_holder_gets_the_grace()
{
    sql "UPDATE jobs SET holder = 'elsewhere'"
    MAILROOM_GRACE=86400000 run d
    has_logged d 'standing by'
    sql "UPDATE jobs SET holder = NULL"
    has_logged d collecting
    ends d TERM 0
    sql "UPDATE jobs SET holder = 'elsewhere'"
    MAILROOM_GRACE=200 run e
    has_logged e 'standing by'
    has_logged e collecting
    ends e TERM 0
}

# f loses its session, and another collector takes its place. f neither collects nor takes the queue
# back before the other has had its grace.
a_returning_holder_stands_by()
{
    MAILROOM_GRACE=86400000 run f
    has_logged f collecting
    sql "BEGIN; UPDATE jobs SET holder = 'elsewhere', epoch = epoch + 1;
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'mailroom-collector'; COMMIT" >/dev/null
    has_logged f 'standing by'
    add_accounts 1 3
    same "lines of a collector that lost the queue" 0 "$(wc -l <"$server_dir/f.out")"
    sql "UPDATE jobs SET holder = NULL"
    drained
    same "lines of the holder" 1 "$(wc -l <"$server_dir/f.out")"
    ends f TERM 0
}

# Collector h is stopped while it signs its first line. Meanwhile its session ends, and another
# collector gets the tokens.
a_stopped_holder_begins_no_line()
{
    failing=$BUILD_DIR/tests/mailroom-collector-failing
    [ -x "$failing" ] || return 0 # a build without it
    STOP_SIGNING=1 MAILROOM_GRACE=200 "$failing" >"$server_dir/h.out" 2>"$server_dir/h.log" &
    pid_h=$!
    at_exit "kill -KILL $pid_h 2>/dev/null"
    has_logged h collecting
    add_accounts 6 8
    stop_deadline=$(($(date +%s) + 60))
    until grep -q '^State:.T' "/proc/$pid_h/status"; do
        [ "$(date +%s)" -le "$stop_deadline" ] || failed "h was never stopped"
        sleep 0.02
    done
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'collector'" >/dev/null
    MAILROOM_GRACE=200 run i
    has_logged i collecting
    drained
    kill -CONT "$pid_h"
    has_logged h 'standing by'
    same "lines of the one that was stopped" 0 "$(wc -l <"$server_dir/h.out")"
    same "lines of the other" 1 "$(wc -l <"$server_dir/i.out")"
    ends h TERM 0
    ends i TERM 0
}

# j has the queue and is stopped; its session stays. k takes over when the lease is over, and j,
# when it goes on, writes none of k's tokens.
a_hanging_holder_is_replaced()
{
    export MAILROOM_LEASE=1000
    run j
    has_logged j collecting
    kill -STOP "$(pid_of j)"
    run k
    has_logged k 'standing by'
    add_accounts 21 40
    drained
    same "lines of the one that hangs" 0 "$(wc -l <"$server_dir/j.out")"
    same "lines of the other" 2 "$(wc -l <"$server_dir/k.out")"
    kill -CONT "$(pid_of j)"
    has_logged j 'standing by'
    add_accounts 41 50
    drained
    same "lines of the one that came back" 0 "$(wc -l <"$server_dir/j.out")"
    # The other collector is killed first, and the one that hung takes the queue again.
    ends k KILL 137
    add_accounts 51 60
    drained
    same "lines of its second time" 1 "$(wc -l <"$server_dir/j.out")"
    ends j TERM 0
    unset MAILROOM_LEASE
}

# A living holder whose tokens wait for their batch renews its lease: nobody takes over.
a_waiting_holder_is_not_replaced()
{
    export MAILROOM_LEASE=1000 MAILROOM_HEALTHCHECK_INTERVAL=60000
    MAILROOM_BATCH_TIMEOUT=4000 run l
    has_logged l collecting
    run m
    has_logged m 'standing by'
    add_accounts 61 61
    # A collector that was stopped itself, and sees its clock jump, does not take over either.
    sql "SELECT pg_sleep(0.5)" >/dev/null
    kill -STOP "$(pid_of m)"
    sql "SELECT pg_sleep(2)" >/dev/null
    kill -CONT "$(pid_of m)"
    drained
    same "lines of the holder" 1 "$(wc -l <"$server_dir/l.out")"
    same "lines of the other" 0 "$(wc -l <"$server_dir/m.out")"
    ends l TERM 0
    ends m TERM 0
    unset MAILROOM_LEASE
}

# A slow reader keeps a line in hand, and wakes the collector again and again, while the server is
# silent. A large batch gives the server's answer much time, in which a short lease is due often.
renewals_do_not_pile_up()
{
    mkfifo "$server_dir/slow.out"
    exec 7<>"$server_dir/slow.out"
    MAILROOM_LEASE=1000 MAILROOM_BATCH_LIMIT=80000 run slow
    has_logged slow collecting
    add_accounts 50001 60000
    backend=$(sql "SELECT pid FROM pg_stat_activity WHERE usename = 'collector'")
    dd bs=4096 count=1 <&7 >/dev/null 2>&1 # the line has begun, and is longer than a pipe holds
    at_exit "kill -CONT $backend 2>/dev/null"
    kill -STOP "$backend"
    while kill -0 "$(pid_of slow)" && ! grep -q lost "$server_dir/slow.log"; do
        dd bs=4096 count=1 iflag=nonblock <&7 || true # an empty pipe must not stop us
        sleep 0.1
    done >/dev/null 2>&1
    kill -CONT "$backend"
    has_logged slow "the server did not answer in time"
    ends slow KILL 137
    exec 7<&-
}

# The last holder has had its grace, but an administrator's command keeps the queue locked. n asks
# once when the grace is over, and then 10 ms after each answer.
an_administrator_is_asked_seldom()
{
    queue_lock="mailroom_lock_key('mailroom', 'queue')"
    mkfifo "$server_dir/administrator"
    psql -qAtX <"$server_dir/administrator" >/dev/null &
    exec 7>"$server_dir/administrator"
    echo "SELECT pg_advisory_lock($queue_lock);" >&7
    until_true "SELECT NOT pg_try_advisory_xact_lock($queue_lock)"
    sql "UPDATE jobs SET holder = 'elsewhere'; ALTER ROLE collector SET log_statement = 'all'"
    MAILROOM_GRACE=100 run n
    has_logged n 'standing by'
    sql "SELECT pg_sleep(2)" >/dev/null
    printf '\\q\n' >&7
    exec 7>&-
    has_logged n collecting
    ends n TERM 0
    sql "ALTER ROLE collector RESET log_statement"
    # $2 is the time of day: hours, minutes, and seconds with their thousandths.
    awk '/execute peers: / { split($2, t, ":"); ms = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000
        asked++; if (asked > 1 && ms >= last && ms - last < 9) soon++; last = ms }
        END { print asked, soon + 0 }' "$server_dir/server.log" >"$server_dir/asked"
    read -r asked soon <"$server_dir/asked"
    [ "$asked" -gt 10 ] || failed "n asked $asked times only"
    [ "$soon" -le 3 ] || failed "n asked $soon of $asked times without a pause"
}

main
