#!/bin/sh
# Compares schema.sql with the schema that the migrations make.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=migrations/test_lib.sh
. "$here/migrations/test_lib.sh"

start_server
major=$(sed -n 's/.*with PostgreSQL \([0-9]*\);.*/\1/p' "$here/migrations/schema.sql")
[ "$major" = "$(server_major)" ] || {
    echo "skipped: schema.sql is as PostgreSQL $major prints it, and this is $(server_major)"
    exit 77
}
new_database schema
up_to "$latest"
final_schema >"$server_dir/schema.sql"
diff -u "$here/migrations/schema.sql" "$server_dir/schema.sql" || {
    echo "FAILED: schema.sql is not what the migrations make; ci/schema writes it"
    exit 1
}
echo "schema.sql is what the migrations make"
