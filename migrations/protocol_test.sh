#!/bin/sh
# Calls the functions of the queue from Python, as a collector of another maker does.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=migrations/test_lib.sh
. "$here/migrations/test_lib.sh"

/usr/bin/python3 -c 'import psycopg2' 2>/dev/null || {
    echo "skipped: python3-psycopg2 is not installed"
    exit 77
}
start_server -c track_functions=all
new_database protocol
up_to "$latest"
close_server_session # the tests end all sessions but their own
/usr/bin/python3 "$here/migrations/protocol_test.py" "$@"

# The server counts calls of a function only where it did not put the function into the statement
# that calls it. The first two then read all that waits, although ten tokens are wanted, and the
# others are called for each token.
server_says_true "SELECT count(*) > 0 FROM pg_stat_user_functions WHERE funcname = 'mailroom_take'"
same "functions that walk on to the end" "" "$(sql "SELECT string_agg(funcname, ' ')
    FROM pg_stat_user_functions
    WHERE funcname IN ('mailroom_walk', 'mailroom_behind', 'mailroom_unsendable',
        'mailroom_suspect')")"
[ "$failures" -eq 0 ]
