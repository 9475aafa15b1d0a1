#!/bin/sh
# What the queue does not take for granted: the number that a row brings along, the encoding, and
# who else may create, read or cancel something.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=migrations/test_lib.sh
. "$here/migrations/test_lib.sh"

main()
{
    start_server
    a_migrator_without_superuser_is_enough # while there are no roles that others made
    a_cursor_tells_where_it_was_written
    a_row_gets_the_number_of_its_transaction
    a_schema_that_others_may_write_to_is_refused
    the_functions_have_few_rights
    a_migrator_who_may_not_make_roles_keeps_the_functions
    two_queues_of_a_database_share_the_role
    a_dump_is_mended
    another_encoding_is_refused
    hidden_rows_are_an_error
    a_cancelled_insert_keeps_no_lock
    a_dump_stops_nobody
    [ "$failures" -eq 0 ] && echo "nothing is taken for granted"
}

# A physical copy goes on with the cursor, and a restored one makes a new one, in which everything
# waits that waited in the dump or came since.
a_cursor_tells_where_it_was_written()
{
    database_at "$latest" evidence
    sql "SELECT state FROM mailroom_peers('mailroom', 1, 'shared', '')" >/dev/null
    add_accounts 1 3
    sql "SELECT count(*) FROM mailroom_take('mailroom', 1, NULL, 2, 1)" >/dev/null
    same "as it is" f "$(moved)"
    sql "VACUUM FREEZE cursors, tokens"
    sql "VACUUM FULL cursors"
    same "frozen and packed" f "$(moved)"
    create_database copied evidence copied
    same "in a copy" f "$(moved)"
    same "what waits in a copy" 3 "$(taken_by 1)"
    PGDATABASE=evidence
    # The dump's snapshots lie far ahead of the transactions of any cluster that it goes to.
    sql "UPDATE tokens SET xid = (900000 + id)::text::xid8;
         UPDATE cursors SET seen = '900009:900009:', tick = '900009:900009:', written = '900009'"
    sql "CREATE DATABASE restored TEMPLATE template0"
    pg_dump | psql -qX restored >"$server_dir/restore.txt" 2>&1
    PGDATABASE=restored
    add_accounts 4 5
    same "restored" t "$(moved)"
    sql "SELECT state FROM mailroom_peers('mailroom', 2, 'shared', '')" >/dev/null
    same "after a new cursor" f "$(moved)"
    add_accounts 6 6
    same "what came since the dump" "4 5 6" "$(taken_by 2)"
    sql "BEGIN; SAVEPOINT a; UPDATE cursors SET n = n + 1, written = pg_current_xact_id(); COMMIT"
    same "moved in a savepoint" t "$(moved)"
    sql "UPDATE cursors SET written = pg_current_xact_id(); UPDATE tokens SET xid = '900000' WHERE id = 6"
    same "a token from the future" t "$(moved)"
}

moved()
{
    sql "SELECT mailroom_moved('mailroom')"
}

a_row_gets_the_number_of_its_transaction()
{
    database_at "$latest" numbers
    sql "SELECT state FROM mailroom_peers('mailroom', 1, 'shared', '')" >/dev/null
    add_accounts 1 2
    sql "SELECT count(*) FROM mailroom_take('mailroom', 1, NULL, 10, 1)" >/dev/null
    # Brings the tokens back from a copy, with the numbers that they had, and so does a replica.
    sql "CREATE TABLE copy AS TABLE tokens; DELETE FROM tokens; DELETE FROM deliveries;
         INSERT INTO tokens SELECT * FROM copy WHERE id = 1;
         SET session_replication_role = replica; INSERT INTO tokens SELECT * FROM copy WHERE id = 2"
    same "brought back" "1 2" "$(taken_by 1)"
    sql "CALL mailroom_partition()"
    sql "DELETE FROM tokens; INSERT INTO tokens SELECT * FROM copy"
    same "brought back to partitions" "1 2" "$(taken_by 1)"
}

taken_by() # owner
{
    sql "SELECT string_agg(token::text, ' ') FROM mailroom_take('mailroom', $1, NULL, 10, 1) WHERE kind > 0"
}

a_schema_that_others_may_write_to_is_refused()
{
    new_database open
    up_to 21
    sql "CREATE ROLE mallory; GRANT CREATE ON SCHEMA public TO mallory, public"
    refused "PUBLIC, mallory may create objects" "REVOKE CREATE ON SCHEMA public FROM PUBLIC, mallory"
    sql "REVOKE CREATE ON SCHEMA public FROM PUBLIC, mallory"
    up 22
}

refused() # message, hint
{
    if said=$(psql -v ON_ERROR_STOP=1 -qX -f "$(migration 22 up)" 2>&1); then failed "not refused: $1"; fi
    case $said in
    *"$1"*"$2"*) ;;
    *) failed "expected '$1' and '$2', got: $said" ;;
    esac
}

# protocol_test.sh calls them with a role that has no right but this one.
the_functions_have_few_rights()
{
    database_at "$latest" rights
    same "the functions with others' rights, and their owner" "9 mailroom_owner" "$(owners)"
    same "its attributes" f "$(sql "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolcanlogin
        OR rolreplication FROM pg_roles WHERE rolname = 'mailroom_owner'")"
    same "where it may create" f "$(sql "SELECT has_schema_privilege('mailroom_owner', 'public', 'CREATE')")"
    # A trigger of anybody's acts with the rights of the function that fires it.
    sql "CREATE FUNCTION grab() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN ALTER ROLE mailroom_collector SUPERUSER; RETURN NEW; END';
         CREATE TRIGGER grab BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION grab()"
    add_accounts 1 1
    sql "SELECT state FROM mailroom_peers('mailroom', 1, 'shared', '')" >/dev/null
    same "what a trigger may do" "permission denied" \
        "$(taken_by 1 2>&1 | sed -n 's/^ERROR: *\(must be superuser\|permission denied\).*/permission denied/p')"
}

# Prints how many functions have others' rights, and to whom these belong.
owners()
{
    sql "SELECT count(*) || ' ' || string_agg(DISTINCT proowner::regrole::text, ', ')
         FROM pg_proc AS p WHERE prosecdef AND pronamespace = 'public'::regnamespace"
}

# Makes a database that belongs to a role, and becomes that role.
own_database() # role and database, its attributes
{
    sql "CREATE ROLE $1 LOGIN $2"
    sql "CREATE DATABASE $1 OWNER $1 TEMPLATE template0"
    PGDATABASE=$1
    sql "ALTER SCHEMA public OWNER TO $1"
    PGUSER=$1 at=0
}

a_migrator_without_superuser_is_enough()
{
    own_database maker CREATEROLE
    up_to "$latest"
    same "the functions of a migrator who may make roles" "9 mailroom_owner" "$(owners)"
    works_in_all_modes
    down_to 20
    up_to "$latest"
    works_in_all_modes
    PGUSER=postgres
}

a_migrator_who_may_not_make_roles_keeps_the_functions()
{
    own_database poor ''
    up_to "$latest"
    grep -q "act with the rights of poor" "$server_dir/notices" || failed "no warning: $(cat "$server_dir/notices")"
    same "the functions of a migrator who may not" "9 poor" "$(owners)"
    works_in_all_modes
    sql "SELECT public.mailroom_secure()" user=postgres >/dev/null
    same "after a superuser's mend" "9 mailroom_owner" "$(owners)"
    works_in_all_modes
    sql "SELECT mailroom_secure()" >/dev/null
    down_to 0
    up_to "$latest"
    same "up once more, as a member" "9 mailroom_owner" "$(owners)"
    PGUSER=postgres
}

works_in_all_modes()
{
    sql "CREATE ROLE collector LOGIN IN ROLE mailroom_collector" user=postgres 2>/dev/null || true
    for mode in leased shared cursor; do
        until_true "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'" # of a session that just ended
        sql "SELECT mailroom_switch_mode('mailroom', '$mode')" >/dev/null
        sql "INSERT INTO accounts (email, login) SELECT m || '@x', m FROM (SELECT 'm' || nextval('accounts_id_seq')) AS a (m)"
        same "$PGDATABASE: one token in mode $mode, none lost" "1 0 left" "$(one_line "$mode" | tr '\n' ' ' | sed 's/ $//')"
    done
    same "what a collector may not do" "" "$(sql "SELECT secret FROM attempts, runs" user=collector 2>/dev/null)"
}

# Takes a line, settles it and leaves. Prints how many tokens it had, and how many were lost.
one_line() # mode
{
    psql -qAtX -v ON_ERROR_STOP=1 -v mode="$1" user=collector <<'END'
SELECT epoch_ AS epoch FROM mailroom_peers('mailroom', 1, :'mode', 'one') \gset
SELECT max(line) AS line, max(nonce) AS nonce, max(token) AS token, count(*) - 1 AS tokens
FROM mailroom_take('mailroom', 1, CASE :'mode' WHEN 'cursor' THEN :epoch END, 10, 1,
    answers => :'mode' = 'leased', per_s => 1000, burst => 1000) \gset
SELECT :'mode' = 'leased' AS leased \gset
SELECT :tokens;
SELECT count(*) FROM mailroom_settle_lines('mailroom', 1, ARRAY[:line], ARRAY[:nonce],
    tokens => CASE WHEN :'leased' THEN ARRAY[:token] END, numbers => CASE WHEN :'leased' THEN '{1}'::int[] END,
    outcomes => CASE WHEN :'leased' THEN '{sent}'::text[] END, texts => CASE WHEN :'leased' THEN '{ok}'::text[] END,
    delays_ms => CASE WHEN :'leased' THEN '{0}'::bigint[] END, alones => CASE WHEN :'leased' THEN '{f}'::bool[] END);
SELECT state FROM mailroom_peers('mailroom', 1, :'mode', 'one', :epoch, leave => 'done', written => 1);
END
}

# The role and its rights in one schema are no business of another schema's.
two_queues_of_a_database_share_the_role()
{
    new_database twice
    sql "CREATE SCHEMA crypto; CREATE EXTENSION pgcrypto SCHEMA crypto; CREATE SCHEMA other"
    export PGOPTIONS="-c search_path=public,crypto"
    up_to "$latest"
    at=0
    export PGOPTIONS="-c search_path=other,crypto"
    up_to "$latest"
    same "the other queue" "ours" "$(sql "SELECT state FROM mailroom_peers('mailroom', 1, 'shared', '')")"
    down_to 20
    unset PGOPTIONS
    works_in_all_modes
}

# A dump that is restored without owners and rights has the functions of whoever restores it.
a_dump_is_mended()
{
    database_at "$latest" dumped_away
    sql "CREATE DATABASE brought TEMPLATE template0"
    pg_dump --no-owner --no-privileges | psql -qX -v ON_ERROR_STOP=1 brought >/dev/null
    PGDATABASE=brought
    same "restored without owners" "9 postgres" "$(owners)"
    sql "SELECT mailroom_secure()" >/dev/null
    same "and mended" "9 mailroom_owner" "$(owners)"
    sql "SELECT state FROM mailroom_peers('mailroom', 1, 'shared', '')" >/dev/null
    add_accounts 1 1
    same "its token" 1 "$(taken_by 1)"
}

another_encoding_is_refused()
{
    sql "CREATE DATABASE latin ENCODING LATIN1 LOCALE 'C' TEMPLATE template0"
    PGDATABASE=latin
    at=0
    up_to 21
    refused "has the encoding LATIN1" "createdb -T template0 -E UTF8"
}

# A role that row security applies to must not be told that a queue with hidden tokens is empty.
hidden_rows_are_an_error()
{
    database_at "$latest" hidden
    sql "SELECT state FROM mailroom_peers('mailroom', 1, 'shared', '')" >/dev/null
    add_accounts 1 1
    sql "CREATE POLICY own ON tokens USING (false); ALTER TABLE tokens ENABLE ROW LEVEL SECURITY;
         ALTER ROLE mailroom_owner NOBYPASSRLS"
    if said=$(taken_by 1 2>&1); then failed "passed over what is hidden: '$said'"; fi
    case $said in
    *"would be affected by row-level security"*) ;;
    *) failed "what is hidden: $said" ;;
    esac
    sql "SELECT mailroom_secure()" >/dev/null
    same "what a superuser's mend lets it see" 1 "$(taken_by 1)"
}

# A cancel may hit the trigger at any instruction, so there are many, and the trigger runs all the time.
a_cancelled_insert_keeps_no_lock()
{
    database_at "$latest" cancelled
    sql "SELECT mailroom_announce('bell')"
    add_accounts 1 1
    same "locks that were left" 0 "$({
        for n in $(seq 200); do
            echo "SET statement_timeout = $((n % 10 + 3));
                DO 'BEGIN LOOP INSERT INTO tokens (action, account) VALUES (''activation'', 1); END LOOP; END';"
        done
        echo "SET statement_timeout = 0; SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();"
    } | psql -qAtX 2>/dev/null)"
}

# A dump that stays open reads the history. Answers are recorded, collectors join, and only the
# partitions of the next days are not made.
a_dump_stops_nobody()
{
    database_at "$latest" dumped
    open_session "$server_dir/dump"
    exec 3>"$server_dir/dump"
    echo "BEGIN; LOCK TABLE attempts IN ACCESS SHARE MODE;" >&3
    until_true "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'attempts_rest'::regclass"
    add_accounts 1 1
    patient="SET statement_timeout = '20s';"
    sql "$patient SELECT state FROM mailroom_peers('mailroom', 1, 'leased', '', host => 'here')" >/dev/null
    sql "$patient SELECT state FROM mailroom_peers('mailroom', 2, 'leased', '', host => 'here')" >/dev/null
    sql "$patient SELECT mailroom_forget('1 day')" >/dev/null
    same "partitions beside a dump" 1 "$(partitions)"
    sql "$patient SELECT count(*) FROM mailroom_take('mailroom', 1, NULL, 1, 1, answers => true)" >/dev/null
    sql "$patient SELECT mailroom_settle_lines('mailroom', 1, ARRAY[n], ARRAY[nonce], tokens => tokens,
        numbers => ARRAY[1], outcomes => ARRAY['sent'], texts => ARRAY[''], delays_ms => ARRAY[0],
        alones => ARRAY[false]) FROM deliveries" >/dev/null
    same "what the dump did not hold up" sent "$(sql "SELECT outcome FROM attempts")"
    same "totals" "scheduled 0 0 sent 1 1" "$(sql "SELECT string_agg(state || ' ' || tokens || ' ' || attempts, ' ')
        FROM mailroom_totals")"
    exec 3>&-
    until_true "SELECT count(*) = 0 FROM pg_locks WHERE relation = 'attempts_rest'::regclass AND pid <> pg_backend_pid()"
    sql "SELECT mailroom_forget('1 day')" >/dev/null
    # Today has begun without one.
    same "partitions after it" 8 "$(partitions)"
}

partitions()
{
    sql "SELECT count(*) FROM pg_inherits WHERE inhparent = 'attempts'::regclass"
}

main
[ "$failures" -eq 0 ]
