#!/bin/sh
# Who may take the queue, and when; and that the log names who holds it up.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/test_lib.sh
. "$SOURCE_DIR/collector/test_lib.sh"

main()
{
    start_server -c max_prepared_transactions=2
    migrate
    who_left_is_not_waited_for
    who_died_is_not_waited_for
    who_may_come_back_is_waited_for
    who_comes_back_stands_by
    who_was_stopped_begins_no_line
    the_log_names_the_holder_of_the_horizon
    echo "all promises of standing by hold"
}

who_left_is_not_waited_for()
{
    MAILROOM_GRACE=86400000 run a
    has_logged a collecting
    ends a TERM 0
    same "a holder that left in good order" "" "$(sql 'SELECT holder FROM jobs')"
    MAILROOM_GRACE=86400000 run b
    has_logged b collecting
}

# b is killed; its name says that it was a process of this machine.
who_died_is_not_waited_for()
{
    ends b KILL 137
    MAILROOM_GRACE=86400000 run c
    has_logged c collecting
    ends c TERM 0
}

# A stranger from another machine has left its name: a fresh collector that
# finds the lock free does not take it before the grace is over.
who_may_come_back_is_waited_for()
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

# f loses its session while another name gets into its place: it neither
# collects nor takes the queue back before the other has had its grace.
who_comes_back_stands_by()
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
    until_true "SELECT count(*) = 0 FROM tokens, jobs WHERE (xid, id) > (last_xid, last_seq)"
    same "lines of the holder" 1 "$(wc -l <"$server_dir/f.out")"
    ends f TERM 0
}

# h is stopped while it signs its first line; meanwhile its session ends and the
# tokens become another's.
who_was_stopped_begins_no_line()
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
    until_true "SELECT count(*) = 0 FROM tokens, jobs WHERE (xid, id) > (last_xid, last_seq)"
    kill -CONT "$pid_h"
    has_logged h 'standing by'
    same "lines of the one that was stopped" 0 "$(wc -l <"$server_dir/h.out")"
    same "lines of the other" 1 "$(wc -l <"$server_dir/i.out")"
    ends h TERM 0
    ends i TERM 0
}

the_log_names_the_holder_of_the_horizon()
{
    run g
    has_logged g collecting
    sql "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'forgotten'" >/dev/null
    add_accounts 4 4
    has_logged g "the prepared transaction 'forgotten' of database postgres, for"
    sql "COMMIT PREPARED 'forgotten'"
    mkfifo "$server_dir/holder"
    PGAPPNAME=nightly-report psql -qAtX <"$server_dir/holder" >/dev/null &
    exec 3>"$server_dir/holder"
    echo "BEGIN; SELECT pg_current_xact_id();" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_xid IS NOT NULL
        AND application_name = 'nightly-report'"
    add_accounts 5 5
    has_logged g "(nightly-report) in database postgres, for"
    exec 3>&-
    ends g TERM 0
}

main
