#!/bin/sh
# The server's time of day is set forward while a retry waits, and mail goes on. A look at what came
# due since the last one does not find the retry. But a look at the other collectors tells that
# something is due, and then all that is due is looked at, as it is every 30 s.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

export MAILROOM_DEQUEUE=leased MAILROOM_RETRY_BASE=60000 MAILROOM_RETRY_MAX=60000

main()
{
    # shellcheck disable=SC2012 # the names are simple
    library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1)
    [ -z "${SANITIZE-}" ] || library=
    [ -n "$library" ] || { echo "skipped: libfaketime is not installed"; exit 77; }
    offset=$(mktemp /var/tmp/mailproof-test.XXXXXX)
    chmod 644 "$offset"
    at_exit "rm -f '$offset' '$offset.new'"
    echo +0 >"$offset"
    server_env="LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE=$offset FAKETIME_NO_CACHE=1
        FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_DISABLE_SHM=1 NO_FAKE_STAT=1"
    start_server
    migrate
    run a -- "$SOURCE_DIR/collector/tests/test_sender.sh" "$server_dir/got"
    has_logged a 'in leased mode'
    sql "INSERT INTO accounts (email, login) VALUES ('once@x', 'once')"
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner = 0"
    # Not yet due before the step, and long due behind it.
    sql "UPDATE deliveries SET due = clock_timestamp() + interval '2 s' WHERE owner = 0"
    before=$(sql "SELECT extract(epoch FROM clock_timestamp())::bigint")
    echo +120 >"$offset.new"
    chmod 644 "$offset.new"
    mv "$offset.new" "$offset"
    until_true "SELECT extract(epoch FROM clock_timestamp()) >= $before + 119"
    n=0
    until [ "$(grep -cx once "$server_dir/got")" = 2 ]; do
        [ "$n" -lt 900 ] || break
        n=$((n + 1))
        echo "INSERT INTO accounts (email, login) VALUES ('ok$n@x', 'ok$n'); SELECT pg_sleep(0.1);"
    done | psql -v ON_ERROR_STOP=1 -qAtX >/dev/null
    same "times that the retry was sent" 2 "$(grep -cx once "$server_dir/got")"
    drained
    same "outcome" sent "$(sql "SELECT outcome FROM attempts AS a JOIN tokens AS t ON t.id = a.token
        JOIN accounts AS c ON c.id = t.account WHERE c.login = 'once' ORDER BY a.number DESC LIMIT 1")"
    ends a TERM 0
    echo "a retry stays in sight, whatever the clock does"
}

main
