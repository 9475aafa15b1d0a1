#!/bin/sh
# Crashes a server that has synchronous_commit = off, and looks at the lines that were confirmed.
# The server forgets them, and one living process writes them again, but loses nothing. Where the
# role has the setting on, as migrations/README.md says, each token comes once.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    # Nothing but a commit makes the log durable.
    start_server -c synchronous_commit=off -c autovacuum=off -c bgwriter_lru_maxpages=0
    for mode in cursor shared leased; do
        sql "CREATE DATABASE $mode"
        PGDATABASE=$mode
        migrate
        sql "ALTER ROLE collector RESET synchronous_commit; CHECKPOINT"
        comes_out 80 as_the_server_has_it
        sql "ALTER ROLE collector SET synchronous_commit = on; CHECKPOINT"
        comes_out 40 as_the_role_has_it
        PGDATABASE=postgres
    done
    echo "a crash repeats what the documents say, and loses nothing"
}

# The tokens are durable, and all of their lines are confirmed when the server dies.
comes_out() # tokens, name
{
    set -- "$1" "${mode}_$2"
    if [ "$mode" = leased ]; then
        MAILROOM_DEQUEUE=leased run "$2" -- "$SOURCE_DIR/collector/tests/test_sender.sh" \
            "$server_dir/$2.got"
        has_logged "$2" 'in leased mode'
    else
        MAILROOM_DEQUEUE=$mode run "$2"
        has_logged "$2" collecting
    fi
    kill -STOP "$(sql "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")"
    PGOPTIONS='-c synchronous_commit=on' sql "INSERT INTO accounts (email, login)
        SELECT n || '$2@x', 'ok' || n || '$2' FROM generate_series(1, 40) n"
    drained
    crash_server
    resume_server
    until_true "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'collector'"
    drained
    ends "$2" TERM 0
    same "tokens written, and distinct ones, $2" "$1 40" "$(written "$2")"
}

written() # name
{
    if [ "$mode" = leased ]; then
        echo "$(wc -l <"$server_dir/$1.got") $(sort -u "$server_dir/$1.got" | wc -l)"
    else
        tokens "$1"
    fi
}

main
