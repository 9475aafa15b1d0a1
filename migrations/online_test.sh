#!/bin/sh
# Tests the files *.online.sql. With them a database gets the same schema as without. They keep
# nobody out for as long as it takes to read a table. One that is interrupted does no harm.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=migrations/test_lib.sh
. "$here/migrations/test_lib.sh"

main()
{
    start_server
    forget_comments
    the_plain_way
    the_schema_is_the_same
    each_down_undoes_its_up
    writers_go_on
    an_interrupted_one_does_no_harm
    an_index_of_others_is_not_lost
    no_row_is_read_under_a_strong_lock cursor
    no_row_is_read_under_a_strong_lock skip-locked
    the_watch_sees_a_scan
    [ "$failures" -eq 0 ] && echo "all online files hold"
}

# --- the tests ---------------------------------------------------------------

# Makes a copy of each database just before a migration that has an online file, and leaves the
# schemas after these migrations and after the last one in plain.N.
the_plain_way()
{
    new_database plain
    for n in $({ numbers; echo "$latest"; } | sort -nu); do
        up_to $((n - 1))
        add_tokens "before$n"
        ! has_online "$n" || create_database "before_$n" plain plain
        up_to "$n"
        schema >"$server_dir/plain.$n"
    done
}

# Producers write before the online file, after it and after the migration.
the_schema_is_the_same()
{
    new_database online
    for n in $(numbers); do
        up_to $((n - 1))
        add_tokens "before$n"
        online "$n"
        add_tokens "between$n"
        rows >"$server_dir/before"
        up "$n"
        rows >"$server_dir/after"
        no_difference "rows of $n" before after
        as_in_the_plain_way
    done
    up_to "$latest"
    for n in $(numbers); do online "$n"; done
    as_in_the_plain_way
    down_to 0
    same "tables left when all is undone" 0 "$(sql "SELECT count(*) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace")"
}

each_down_undoes_its_up()
{
    for n in $(numbers); do
        copy_of_before "$n" "undone_$n"
        photograph >"$server_dir/before"
        online "$n"
        up "$n"
        down "$n"
        photograph >"$server_dir/after"
        no_difference "down of $n" before after
        up "$n"
        as_in_the_plain_way
    done
}

# An old snapshot makes the online file wait when it has built an index. Meanwhile no writer
# has to wait.
writers_go_on()
{
    for n in $(numbers); do
        copy_of_before "$n" "written_$n"
        open_session "$server_dir/snapshot_$n"
        exec 3>"$server_dir/snapshot_$n"
        echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;" >&3
        until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database()
            AND state = 'idle in transaction' AND backend_xmin IS NOT NULL"
        (exec 3>&-; leave_server_session; online "$n") &
        online_file=$!
        until_true "SELECT count(*) = 1 FROM pg_stat_progress_create_index
            WHERE datname = current_database() AND phase LIKE 'waiting for old snapshots'"
        sql "SET lock_timeout = '20s'; INSERT INTO accounts (email, login) VALUES ('w@x', 'w');
             UPDATE tokens SET consumed_at = 5 WHERE account = 1;
             UPDATE accounts SET activated_at = 6 WHERE id = 2; DELETE FROM accounts WHERE id = 3" ||
            failed "a writer waits for the online file of $n"
        exec 3>&-
        wait "$online_file" || failed "the online file of $n"
        rows >"$server_dir/before"
        up "$n"
        rows >"$server_dir/after"
        no_difference "what was written meanwhile, $n" before after
    done
}

# An online file that is interrupted may leave an invalid index behind, and that of 000007 some of
# its columns.
an_interrupted_one_does_no_harm()
{
    for n in $(numbers); do
        copy_of_before "$n" "broken_$n"
        online "$n"
        sql "UPDATE pg_index SET indisvalid = false WHERE indexrelid = (SELECT max(oid) FROM pg_class
            WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace)"
        up "$n"
        as_in_the_plain_way
        same "invalid indexes after $n" 0 "$(sql "SELECT count(*) FROM pg_index WHERE NOT indisvalid")"
    done
    copy_of_before 7 half
    online 7
    sql "ALTER TABLE tokens DROP CONSTRAINT tokens_next_filled"
    rows >"$server_dir/before"
    create_database repeated half half
    up 7
    as_in_the_plain_way
    rows >"$server_dir/after"
    no_difference "rows of a half-finished 7" before after
    PGDATABASE=repeated
    at=6
    online 7
    same "repeated, all is prepared" 4 "$(sql "SELECT
        (SELECT count(*) FROM pg_constraint WHERE conname LIKE '%_next_filled' AND convalidated)
      + (SELECT count(*) FROM pg_index WHERE indexrelid::regclass::text LIKE '%_next_idx' AND indisvalid)")"
    up 7
    as_in_the_plain_way
}

an_index_of_others_is_not_lost()
{
    copy_of_before 7 theirs
    sql "CREATE INDEX theirs_idx ON tokens (created_at)"
    photograph >"$server_dir/before"
    case $(psql -qX -f "$(migration 7 online)" 2>&1) in
    *"would be lost: the index theirs_idx"*) ;;
    *) failed "an index of theirs" ;;
    esac
    photograph >"$server_dir/after"
    no_difference "an index of theirs" before after
    up 7
    same "and it is still there" 1 "$(sql "SELECT count(*) FROM pg_class WHERE relname = 'theirs_idx'")"
}

no_row_is_read_under_a_strong_lock() # the mode of the queue before the snapshot cursor
{
    watched=watched_$(echo "$1" | tr - _)
    watched_database "$watched"
    while [ "$at" -lt "$latest" ]; do
        if has_online $((at + 1)); then
            [ "$1" != cursor ] || create_database "unprepared_$((at + 1))" "$watched" "$watched"
            server_feed '\connect -' # because the session counts what it has read
            online $((at + 1))
        fi
        server_feed '\connect -'
        up $((at + 1))
        [ "$at" -ne 15 ] || sql "SELECT mailroom_switch_mode('mailroom', '$1')" dbname="$PGDATABASE options='-c watch.off=yes'" >/dev/null
    done
}

# Without its online file each of these migrations must be caught, in the copy of the database that
# the_plain_way made before it. So a later migration that reads rows under a lock will be caught,
# too.
the_watch_sees_a_scan()
{
    for n in $(numbers); do
        PGDATABASE=unprepared_$n
        case $(psql -v ON_ERROR_STOP=1 -qX -f "$(migration "$n" up)" 2>&1) in
        *"watch: "*Lock*) ;;
        *) failed "nobody saw what $n reads under a lock" ;;
        esac
    done
    case $(sql "CREATE INDEX more_idx ON tokens (code)" 2>&1) in
    *"watch: CREATE INDEX"*ShareLock*) ;;
    *) failed "nobody saw an index being built" ;;
    esac
    case $(sql "BEGIN; LOCK TABLE tokens IN SHARE MODE; UPDATE tokens SET code = code; CREATE TABLE more (); COMMIT" 2>&1) in
    *"watch: CREATE TABLE"*ShareLock*) ;;
    *) failed "nobody saw an update under a lock" ;;
    esac
}

# --- helpers ----------------------------------------------------------------

# Makes a database at migration 3 with 2,000 tokens. In it a statement that changes a schema fails
# when its transaction has read more than 200 rows of tokens or accounts and holds a lock on these
# tables that writers conflict with. It counts rows and not time, so a slow machine makes no
# difference. The session itself counts what its transaction has read.
watched_database() # name
{
    new_database "$1"
    up 1
    add_accounts 1 2000
    sql "UPDATE jobs SET last_seq = 1990; ANALYZE"
    up 2
    up 3
    sql "
        CREATE FUNCTION watch() RETURNS event_trigger LANGUAGE plpgsql SET search_path = public AS \$\$
        DECLARE
            read bigint := (SELECT sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))
                FROM pg_class WHERE oid IN ('tokens'::regclass, 'accounts'::regclass));
            locks text;
        BEGIN
            IF current_setting('watch.off', true) = 'yes' THEN
                RETURN;
            ELSIF TG_EVENT = 'ddl_command_start' THEN
                -- The counters may still have what earlier transactions of the session have read.
                IF coalesce(current_setting('watch.transaction', true), '') NOT IN ('', now()::text) THEN
                    PERFORM set_config('watch.read', read::text, false);
                END IF;
                PERFORM set_config('watch.transaction', now()::text, false);
                RETURN;
            END IF;
            read := read - coalesce(nullif(current_setting('watch.read', true), ''), '0')::bigint;
            SELECT string_agg(DISTINCT mode, ' ') INTO locks FROM pg_locks
            WHERE pid = pg_backend_pid() AND relation IN ('tokens'::regclass, 'accounts'::regclass)
              AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock');
            IF read > 200 AND locks IS NOT NULL THEN
                RAISE 'watch: % read % rows under %', TG_TAG, read, locks;
            END IF;
        END
        \$\$;
        CREATE EVENT TRIGGER watch_start ON ddl_command_start EXECUTE FUNCTION watch();
        CREATE EVENT TRIGGER watch_end ON ddl_command_end EXECUTE FUNCTION watch()"
}

has_online() { find_migration "$1" online && [ -n "$lib_file" ]; } # number

# Prints the numbers of the migrations that have an online file.
numbers() { find "$here/migrations" -name '*.online.sql' | sort | sed 's|.*/0*\([0-9]*\)_.*|\1|'; }

online() { apply online "$1"; } # number

copy_of_before() # number, name
{
    create_database "$2" "before_$1" "$2"
    at=$(($1 - 1))
}

as_in_the_plain_way()
{
    schema >"$server_dir/schema"
    no_difference "the schema of $at in $PGDATABASE" "plain.$at" schema
}

no_difference() # what, file, file
{
    diff "$server_dir/$2" "$server_dir/$3" || failed "$1 differs"
}

main
[ "$failures" -eq 0 ]
