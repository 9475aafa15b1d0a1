# shellcheck shell=sh
# Functions that the tests of the migrations share. It is sourced, not run.
# `at` is the number of the last migration that was applied to the present database.

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=ci/private-server.sh
. "$here/ci/private-server.sh"

failures=0
# shellcheck disable=SC2034 # for the tests
latest=$(basename "$(printf '%s\n' "$here"/migrations/*.up.sql | tail -n 1)" | sed 's/^0*\([0-9]*\).*/\1/')

# Runs statements in the session of server_ask; or, with words that say where, in a psql of its own.
sql() # statements, where
{
    if [ $# -gt 1 ]; then
        psql -v ON_ERROR_STOP=1 -qAtX "$2" -c "$1"
        return
    fi
    lib_code=0
    server_ask "$1" || lib_code=$?
    printf '%s' "$server_answer"
    return "$lib_code"
}

new_database() # name
{
    create_database "$1" template1 "$1"
    at=0
}

# Makes a copy of a database, while the session is in neither, and goes to one of them.
create_database() # name, template, where to go
{
    server_ask 'SELECT 1' # an error may have ended the session
    # Copying the files needs less of the processor than writing each page to the log does.
    server_feed "\\connect postgres
SELECT CASE WHEN :SERVER_VERSION_NUM >= 150000 THEN 'STRATEGY file_copy' ELSE '' END AS strategy \\gset
CREATE DATABASE $1 TEMPLATE $2 :strategy;
\\connect $3"
    PGDATABASE=$3
    [ -z "$server_session" ] || server_session="$PGHOST $PGUSER $PGDATABASE ${PGOPTIONS-}"
}

# Prints the file of a migration; nothing when there is none of this number.
migration() # number, direction
{
    find_migration "$1" "$2"
    [ -z "$lib_file" ] || echo "$lib_file"
}

find_migration() # number, direction
{
    lib_digits=00000$1
    for lib_file in "$here/migrations/${lib_digits#"${lib_digits%??????}"}"_*."$2.sql"; do
        [ -e "$lib_file" ] || lib_file=
    done
}

# Applies migrations in the given order, in one session. Files that do not exist are left out.
apply() # direction, numbers
{
    lib_direction=$1 lib_lines=
    shift
    for lib_number in "$@"; do
        find_migration "$lib_number" "$lib_direction"
        [ -z "$lib_file" ] || lib_lines="$lib_lines\\i $lib_file$server_newline"
    done
    [ -z "$lib_lines" ] || server_feed "$lib_lines" 2>"$server_dir/notices" || {
        cat "$server_dir/notices"
        failed "migrations $* $lib_direction in $PGDATABASE"
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

# Makes a database at a migration. The first at this one goes through all before it, and the later
# ones are copies of it.
database_at() # number, name
{
    if [ "$(sql "SELECT count(*) FROM pg_database WHERE datname = 'at_$1'")" -eq 0 ]; then
        new_database "at_$1"
        up_to "$1"
    fi
    create_database "$2" "at_$1" "$2"
    at=$1
}

# Prints the schema, the roles, and the rows of accounts and tokens. (Those of the cursor
# are left out, because it may go back on the way down.)
photograph()
{
    schema
    roles
    rows
}

# Prints the schema as pg_dump does, which leaves roles out. Security labels need a library that is not
# here.
schema()
{
    # Newer pg_dumps fence their output with a random word.
    pg_dump --schema-only --no-security-labels | sed '/^\\\(un\)\{0,1\}restrict /d'
}

# Has pg_dump pass over what it never prints: the comments on the server's own objects, in the databases
# that are made from now on.
forget_comments()
{
    psql -qX -c "DELETE FROM pg_description WHERE classoid <> 'pg_namespace'::regclass" \
        -c 'VACUUM FULL pg_description' template1
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
    [ "$at" -ne 0 ] || return 0
    # psql writes them to a file, because the shell reads each byte from the session by itself.
    server_feed "\\o $server_dir/rows
        SELECT id, email, status, login, created_at, status_changed_at,
        activated_at, suspended_at, unsuspended_at FROM accounts ORDER BY id; SELECT id, action, secret, code,
        account, expires_at, consumed_at, created_at FROM tokens ORDER BY id;
\\o"
    cat "$server_dir/rows"
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
