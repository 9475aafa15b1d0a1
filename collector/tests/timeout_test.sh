#!/bin/sh
# A line that is not full leaves when its first token has waited for the timeout, and no sooner: also
# when a full line, which left because of older tokens, has left it behind.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

export MAILROOM_BATCH_LIMIT=3 MAILROOM_BATCH_TIMEOUT=1500 MAILROOM_HEALTHCHECK_INTERVAL=60000

now_ms()
{
    date +%s%3N
}

seen() # number of tokens
{
    lib_deadline=$(($(date +%s) + 60))
    until [ "$(tokens a)" = "$1 $1" ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "a wrote no $1 tokens"
        sleep 0.02
    done
}

# The collector stands still until the first token has waited long enough. One of those that came
# meanwhile can stand in no line, so the full line is taken, and not read.
what_a_full_line_leaves_waits() # mode, first account
{
    export MAILROOM_DEQUEUE="$1"
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" run switch --switch-mode
    ends switch none 0
    run a
    has_logged a collecting
    add_accounts "$2" "$2"
    sleep 0.5
    kill -STOP "$(pid_of a)"
    sleep 0.5
    inserted_ms=$(now_ms)
    sql "INSERT INTO accounts (email, login) VALUES (E'\n$2@x', 'n$2')"
    add_accounts $(($2 + 1)) $(($2 + 4))
    sleep 0.7
    kill -CONT "$(pid_of a)"
    seen 5
    waited_ms=$(($(now_ms) - inserted_ms))
    [ "$waited_ms" -ge "$MAILROOM_BATCH_TIMEOUT" ] ||
        failed "$1: what a full line left went out after $waited_ms ms, before its timeout"
    ends a TERM 0
}

main()
{
    start_server
    migrate
    sql "ALTER TABLE accounts DISABLE TRIGGER account_check_sendable"
    what_a_full_line_leaves_waits cursor 1
    what_a_full_line_leaves_waits shared 6
    echo "no short line leaves before its timeout"
}

main
