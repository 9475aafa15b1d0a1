#!/bin/sh
# A token that comes alone costs three statements: a read that finds it and, after its line, one that
# moves the cursor and, in the same trip, a read for what came meanwhile. Nothing is written before
# the line.
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
    same "takes" 0 "$(executed lines)"
    same "moves" 10 "$(executed passed)"
    [ "$(executed read)" -ge 20 ] || failed "the reads are not in the server's log"
    [ "$(executed read)" -le 24 ] || failed "$(executed read) reads for ten tokens"
    same "rows of deliveries that were ever written" 0 "$(sql "
        SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'deliveries'")"
    echo "a token alone costs a look and a move"
}

main
