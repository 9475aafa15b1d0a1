#!/bin/sh
# Behind a pooler in transaction mode the collector finds out that it has no
# session of its own, and says so; in session mode it works.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    pgbouncer=$(command -v pgbouncer || ls /usr/sbin/pgbouncer 2>/dev/null) || {
        echo "skipped: no pgbouncer here"
        exit 77
    }
    start_server
    migrate
    mode transaction 6543
    mode session 6544
    mode session 6545 "default_pool_size = 1"
    MAILROOM_DATABASE_URL="host=$server_dir port=6543 user=collector dbname=mail" run a
    ends a none 78
    has_logged a "connect to the server"
    MAILROOM_DATABASE_URL="host=$server_dir port=6544 user=collector dbname=mail" run b
    has_logged b collecting
    add_accounts 1 3
    drained
    ends b TERM 0
    # The collector uses up the pool, so nobody else ever gets an answer.
    MAILROOM_DATABASE_URL="host=$server_dir port=6545 user=collector dbname=mail" run c
    has_logged c collecting
    ends c TERM 0
    echo "poolers are told apart"
}

mode() # pool mode, port, a further setting
{
    cat >"$server_dir/$2.ini" <<END
[databases]
mail = host=$PGHOST dbname=$PGDATABASE
[pgbouncer]
listen_addr =
listen_port = $2
unix_socket_dir = $server_dir
auth_type = any
pool_mode = $1
ignore_startup_parameters = extra_float_digits
${3-}
END
    sed -i 's/^mail = .*/& user=collector/' "$server_dir/$2.ini"
    chmod 644 "$server_dir/$2.ini"
    (exec_as_server_user "$pgbouncer" -q "$server_dir/$2.ini") >"$server_dir/$2.log" 2>&1 &
    at_exit "kill $! 2>/dev/null"
    deadline=$(($(date +%s) + 20))
    until psql -h "$server_dir" -p "$2" -U collector -d mail -qAtXc 'SELECT 1' >/dev/null 2>&1; do
        [ "$(date +%s)" -le "$deadline" ] || failed "no pgbouncer"
        sleep 0.05
    done
}

main
