#!/usr/bin/env bash
# Runs the generator against a server of its own. Its record of every transaction must
# agree with the database, whatever died meanwhile.
set -euo pipefail
# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
start_server
for file in "$SOURCE_DIR"/migrations/*.up.sql; do
    psql -qX -v ON_ERROR_STOP=1 -f "$file" >/dev/null 2>"$server_dir/migrate.log" || {
        cat "$server_dir/migrate.log"
        exit 70
    }
done
"$BUILD_DIR/tests/load_db_test"
