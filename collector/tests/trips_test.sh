#!/bin/sh
# A token that comes alone costs three statements: a read that finds it, the move after its line
# and, in the same trip as the move, a read of what came meanwhile. The collector looks for what
# others left when a session begins, and not again.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

executed() # statement
{
    grep -c "execute $1: " "$server_dir/server.log" || true
}

main()
{
    start_server
    migrate
    sql "ALTER ROLE collector SET log_statement = 'all'"
    export MAILROOM_BATCH_LIMIT=1 MAILROOM_HEALTHCHECK_INTERVAL=60000
    run a
    has_logged a collecting
    for n in 1 2 3 4 5 6 7 8 9 10; do
        add_accounts "$n" "$n"
        drained
    done
    ends a TERM 0
    same "tokens, each once" "10 10" "$(tokens a)"
    same "moves of the cursor" 10 "$(executed move)"
    same "looks for what was left" 1 "$(executed stock)"
    [ "$(executed read)" -ge 10 ] || failed "the reads are not in the server's log"
    echo "a token alone costs a read and a move"
}

main
