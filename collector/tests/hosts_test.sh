#!/bin/sh
# Several hosts in one conninfo: the collector goes on to the one that can be
# written to, and waits for a standby to be promoted.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server -c wal_level=replica -c max_wal_senders=4
    migrate
    start_standby
    the_first_host_is_dead
    the_first_host_is_a_standby
    the_second_host_is_silent
    nobody_can_be_written_to_until_the_promotion
    a_standby_alone_is_waited_for
    echo "hosts take turns"
}

# Starts a standby that streams from the first server. Its folder is below that of the first server,
# and it has a socket of its own.
start_standby()
{
    standby=$server_dir/standby
    mkdir "$standby"
    chown "$(stat -c %u "$server_dir")" "$standby"
    (exec_as_server_user "$server_bindir/pg_basebackup" -h "$server_dir" -U postgres \
        -D "$standby/data" --checkpoint=fast --write-recovery-conf --no-sync) \
        >"$server_dir/basebackup.log" 2>&1 || failed "no copy for a standby"
    (exec_as_server_user "$server_bindir/postgres" -D "$standby/data" -k "$standby" \
        -c listen_addresses= -c fsync=off -c shared_buffers=32MB) \
        >>"$server_dir/standby.log" 2>&1 </dev/null &
    standby_pid=$!
    at_exit "kill -QUIT $standby_pid 2>/dev/null; wait $standby_pid 2>/dev/null || true"
    hosts_deadline=$(($(date +%s) + 60))
    until [ "$(on_standby 'SELECT pg_is_in_recovery()')" = t ]; do
        [ "$(date +%s)" -le "$hosts_deadline" ] || failed "the standby did not start"
        sleep 0.05
    done
}

on_standby() # statements
{
    psql -h "$standby" -v ON_ERROR_STOP=1 -qAtX -c "$1" 2>/dev/null
}

hosts() # host, host
{
    echo "host=$1,$2 user=collector dbname=$PGDATABASE target_session_attrs=read-write"
}

the_first_host_is_dead()
{
    MAILROOM_DATABASE_URL=$(hosts "$server_dir/nobody" "$server_dir") run a
    delivers a 1 3
}

the_first_host_is_a_standby()
{
    MAILROOM_DATABASE_URL=$(hosts "$standby" "$server_dir") run b
    delivers b 4 6
}

# The host after the silent one is tried next, not one round later.
the_second_host_is_silent()
{
    start_silent_host
    MAILROOM_DATABASE_URL=$(hosts "$standby,$silent" "$server_dir") run e
    has_logged e "did not answer in time"
    delivers e 13 15
    same "attempts that met silence" 1 "$(grep -c "did not answer in time" "$server_dir/e.log")"
    kill "$silent_pid"
}

delivers() # name, first account, last account
{
    has_logged "$1" collecting
    add_accounts "$2" "$3"
    drained
    ends "$1" TERM 0
    same "tokens of $1" $(($3 - $2 + 1)) "$(tokens "$1")"
}

tokens() # name
{
    awk -F, '{ n += (NF / 5) } END { print n + 0 }' "$server_dir/$1.out"
}

# The primary dies while the collector uses it. Its standby is promoted only after the collector has
# found neither of them usable.
nobody_can_be_written_to_until_the_promotion()
{
    MAILROOM_DATABASE_URL=$(hosts "$server_dir" "$standby") run c
    has_logged c collecting
    add_accounts 7 7
    drained
    until_true "SELECT replay_lsn = pg_current_wal_lsn() FROM pg_stat_replication"
    MAILROOM_DATABASE_URL="host=$standby user=collector dbname=$PGDATABASE" run d
    has_logged d "cannot execute LISTEN during recovery"
    crash_server
    has_logged c "session is read-only"
    on_standby "SELECT pg_promote()" >/dev/null
    PGHOST=$standby
    until_true "SELECT NOT pg_is_in_recovery()"
    # Now there are two collectors: one has the queue, the other stands by.
    add_accounts 8 9
    drained
    same "tokens of both" 3 $(($(tokens c) + $(tokens d)))
    ends c TERM 0
}

# Collector d has never known another host.
a_standby_alone_is_waited_for()
{
    has_logged d collecting
    add_accounts 10 12
    drained
    ends d TERM 0
    same "tokens of both" 6 $(($(tokens c) + $(tokens d)))
}

main
