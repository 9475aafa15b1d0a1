# shellcheck shell=sh
# Functions that the tests of the migrations share. It is sourced, not run.
# `at` is the number of the last migration that was applied to the present database.

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=ci/private-server.sh
. "$here/ci/private-server.sh"

failures=0
# shellcheck disable=SC2034 # for the tests
latest=$(basename "$(printf '%s\n' "$here"/migrations/*.up.sql | tail -n 1)" | sed 's/^0*\([0-9]*\).*/\1/')

sql() # statements
{
    sql_text=$1
    shift
    psql -v ON_ERROR_STOP=1 -qAtX "$@" -c "$sql_text"
}

new_database() # name
{
    sql "CREATE DATABASE $1 TEMPLATE template0"
    PGDATABASE=$1
    at=0
}

# Prints the file of a migration; nothing when there is none of this number.
migration() # number, direction
{
    for lib_file in "$here/migrations/$(printf %06d "$1")"_*."$2.sql"; do
        [ ! -e "$lib_file" ] || echo "$lib_file"
    done
}

# Applies migrations in the given order, in one session. Files that do not exist are left out.
apply() # direction, numbers
{
    lib_direction=$1
    shift
    lib_numbers=$*
    set --
    for lib_number in $lib_numbers; do
        lib_file=$(migration "$lib_number" "$lib_direction")
        [ -z "$lib_file" ] || set -- "$@" -f "$lib_file"
    done
    [ $# -eq 0 ] || psql -v ON_ERROR_STOP=1 -qX "$@" 2>"$server_dir/notices" || {
        cat "$server_dir/notices"
        failed "migrations $lib_numbers $lib_direction in $PGDATABASE"
    }
}

up() # number
{
    apply up "$1"
    at=$1
}

up_to() # number
{
    [ "$at" -ge "$1" ] || apply up $(seq "$((at + 1))" "$1")
    at=$1
}

down() # number
{
    apply down "$1"
    at=$(($1 - 1))
}

down_to() # number
{
    [ "$at" -le "$1" ] || apply down $(seq "$at" -1 "$(($1 + 1))")
    at=$1
}

# Applies all migrations that are left. The first empty database goes through all of them; a
# later one becomes a copy of it.
up_to_latest()
{
    if [ "$at" -eq 0 ] &&
        [ "$(sql "SELECT count(*) FROM pg_database WHERE datname = 'at_latest'")" -eq 1 ]; then
        sql "DROP DATABASE $PGDATABASE" dbname=postgres
        sql "CREATE DATABASE $PGDATABASE TEMPLATE at_latest" dbname=postgres
        at=$latest
        return
    fi
    started_at=$at
    up_to "$latest"
    [ "$started_at" -ne 0 ] || sql "CREATE DATABASE at_latest TEMPLATE $PGDATABASE" dbname=postgres
}

# Prints the schema, the roles, and the rows of accounts and tokens. (Those of the cursor
# are left out, because it may go back on the way down.)
photograph()
{
    schema
    roles
    rows
}

# Prints the schema as pg_dump does, which leaves roles out.
schema()
{
    # Newer pg_dumps fence their output with a random word.
    pg_dump --schema-only | sed '/^\\\(un\)\{0,1\}restrict /d'
}

# Prints the schema for people: without owners, settings, and pg_dump's headings.
final_schema()
{
    echo "-- The schema as all migrations leave it. ci/schema wrote this with PostgreSQL $(server_major);"
    echo "-- pg_dump leaves out the roles mailroom_collector and mailroom_owner, which 000009 and 000023 make."
    pg_dump --schema-only --no-owner | sed -E -e '/^\\(un)?restrict /d' \
        -e '/^--($| Name: | Dumped | PostgreSQL database )/d' -e '/^SET |^SELECT pg_catalog.set_config/d' |
        cat -s
}

server_major()
{
    sql "SELECT current_setting('server_version_num')::int / 10000"
}

rows()
{
    [ "$at" -eq 0 ] || sql "SELECT id, email, status, login, created_at, status_changed_at,
        activated_at, suspended_at, unsuspended_at FROM accounts ORDER BY id; SELECT id, action, secret, code,
        account, expires_at, consumed_at, created_at FROM tokens ORDER BY id"
}

roles()
{
    sql "SELECT string_agg(rolname, ' ' ORDER BY rolname) FROM pg_roles WHERE rolname ~ '^mailroom_'"
}

add_accounts() # first, last
{
    sql "INSERT INTO accounts (email, login) SELECT 'u' || n || '@x', 'u' || n
         FROM generate_series($1, $2) n"
}

# Adds tokens of several kinds, so that each migration finds rows to carry over.
add_tokens() # prefix
{
    sql "INSERT INTO accounts (email, login) SELECT '$1-' || n, '$1-' || n
             FROM generate_series(1, 5) n;
         UPDATE tokens SET consumed_at = 1 WHERE id % 5 = 2;
         UPDATE tokens SET expires_at = 1 WHERE id % 5 = 3;
         UPDATE jobs SET last_seq = (SELECT max(id) - 2 FROM tokens)"
}

# Starts a psql that takes its statements from a pipe, until the pipe is closed.
open_session() # path
{
    mkfifo "$1"
    psql -qAtX <"$1" >/dev/null &
}

until_true() # query
{
    server_says_true "$1" || {
        failed "never came true: $1"
        exit 1
    }
}

same() # what, expected, got
{
    [ "$2" = "$3" ] || failed "$1: expected '$2', got '$3'"
}

failed() # message
{
    echo "FAILED: $1"
    failures=$((failures + 1))
}
