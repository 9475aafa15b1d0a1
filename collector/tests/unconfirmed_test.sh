#!/bin/sh
# A lost session may have written lines. The collector does not write them again, and TERM
# does not call them confirmed before the database has passed them.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server
    migrate
    export MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000
    run first # makes the cursor
    has_logged first collecting
    ends first TERM 0
    sql "CREATE SEQUENCE moves;
         CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
             'BEGIN PERFORM pg_advisory_xact_lock_shared(4700 + nextval(''public.moves'')); RETURN NEW; END';
         CREATE TRIGGER held BEFORE UPDATE OF xid ON cursors FOR EACH ROW
             EXECUTE FUNCTION wait_for_test()"
    term_waits_for_all_of_a_doubt
    tokens_not_shown_are_passed
    echo "nothing is forgotten of what was written"
}

# The line u1 to u10 is out and its move is lost with the session; then u6 to u10
# stand behind a hundred others. The batch with u1 to u5 is passed, and the next read
# waits: half of the first line is not confirmed.
term_waits_for_all_of_a_doubt()
{
    control "SELECT pg_advisory_lock(4701), pg_advisory_lock(4702);"
    until_true "SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND objid IN (4701, 4702)"
    run a
    has_logged a collecting
    add_accounts 1 10
    until_true "$(move_waits 4701)"
    add_accounts 101 200
    end_session 4701 "UPDATE tokens SET xid = pg_current_xact_id() FROM accounts a
        WHERE a.id = account AND a.login IN ('u6', 'u7', 'u8', 'u9', 'u10')"
    until_true "$(move_waits 4702)"
    same "lines before TERM" 2 "$(wc -l <"$server_dir/a.out")"
    control "BEGIN; LOCK TABLE tokens; SELECT pg_advisory_unlock(4702);"
    until_true "SELECT count(*) = 1 FROM pg_locks
        WHERE relation = 'tokens'::regclass AND NOT granted"
    ends a TERM 75
    control "ROLLBACK; SELECT pg_advisory_unlock_all();"
    MAILROOM_BATCH_TIMEOUT=0 run b
    drained
    ends b TERM 0
}

# The line u201 to u210 is out, and its move is lost with the session. When the next session takes,
# their accounts are suspended, so they are passed over, and no line shows them. Then the accounts
# are active again.
tokens_not_shown_are_passed()
{
    sql "SELECT setval('moves', 10)" >/dev/null
    control "SELECT pg_advisory_lock(4711);"
    until_true "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"
    run c
    has_logged c collecting
    add_accounts 201 210
    until_true "$(move_waits 4711)"
    control "BEGIN; LOCK TABLE jobs;"
    end_session 4711 "UPDATE accounts SET status = 'suspended' WHERE login LIKE 'u20_' OR login = 'u210'"
    until_true "SELECT count(*) = 1 FROM pg_locks
        WHERE relation = 'jobs'::regclass AND NOT granted"
    add_accounts 211 211
    control "COMMIT;"
    until_true "SELECT count(*) = 0 FROM mailroom_untaken('mailroom')"
    sql "UPDATE accounts SET status = 'active' WHERE login LIKE 'u20_' OR login = 'u210'"
    add_accounts 212 221
    drained
    same "tokens, each once" "21 21" "$(tokens c)"
    ends c TERM 0
}

# Runs statements in the test's own session, one after the other.
control() # statements
{
    if [ ! -p "$server_dir/control" ]; then
        mkfifo "$server_dir/control"
        psql -qAtX <"$server_dir/control" >/dev/null &
        exec 7>"$server_dir/control"
    fi
    echo "$1" >&7
}

move_waits() # lock: as a query
{
    echo "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted"
}

# Ends the session whose move waits for a lock, and changes something before it can
# come back.
end_session() # lock, statement
{
    sql "ALTER ROLE collector CONNECTION LIMIT 0"
    sql "SELECT pg_terminate_backend(pid) FROM pg_locks
         WHERE locktype = 'advisory' AND objid = $1 AND NOT granted" >/dev/null
    until_true "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'collector'"
    sql "$2"
    sql "ALTER ROLE collector CONNECTION LIMIT -1"
}

main
