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
start_server
new_database protocol
up_to_latest
/usr/bin/python3 "$here/migrations/protocol_test.py" "$@"
[ "$failures" -eq 0 ]
