#!/bin/sh
# Takes databases up and down through the migrations and looks at what a
# collector would deliver afterwards, not only at the schema.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=migrations/test_lib.sh
. "$here/migrations/test_lib.sh"

main()
{
    start_server
    each_down_undoes_its_up
    all_downs_undo_all_ups
    the_role_can_do_its_work_only # before other databases of this server need it
    waiting_tokens_are_delivered
    transactions_older_than_the_cursor_are_delivered
    status_changes
    every_token_is_announced
    codes_are_five_digits
    unsendable_accounts_are_refused
    time_goes_on_after_2038
    an_older_pgcrypto_stays
    a_used_cursor_becomes_a_snapshot
    a_shared_queue_stays_shared
    a_new_cursor_loses_nothing
    an_old_snapshot_costs_nothing
    a_conflict_makes_no_token
    another_search_path_finds_the_tables
    partitions_become_one_table
    a_lane_ages_by_the_second
    tokens_that_expired_keep_no_lane_from_ageing
    [ "$failures" -eq 0 ] && echo "all migrations hold"
}

# --- the tests ---------------------------------------------------------------

each_down_undoes_its_up()
{
    new_database undo_each
    n=1
    while [ "$n" -le "$latest" ]; do
        [ "$n" -eq 1 ] || add_tokens "step$n"
        photograph >"$server_dir/before"
        up "$n"
        down "$n"
        photograph >"$server_dir/after"
        diff "$server_dir/before" "$server_dir/after" || failed "down of $n leaves a trace"
        up "$n"
        n=$((n + 1))
    done
    down_to 0
    nothing_is_left
}

all_downs_undo_all_ups()
{
    new_database undo_all
    while [ "$at" -lt "$latest" ]; do up $((at + 1)); done
    down_to 0
    nothing_is_left
}

nothing_is_left()
{
    same "tables left when all is undone in $PGDATABASE" 0 "$(sql "SELECT count(*) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace")"
}

# Ids 1 to 4 were dequeued. Of the others 6 is consumed, 7 expired, 8 belongs to
# a suspended account; 11 is a password recovery.
waiting_tokens_are_delivered()
{
    new_database waiting
    up 1
    add_accounts 1 10
    sql "UPDATE jobs SET last_seq = 4;
         UPDATE tokens SET consumed_at = 1 WHERE id = 6;
         UPDATE tokens SET expires_at = 1 WHERE id = 7;
         UPDATE accounts SET status = 'suspended' WHERE id = 8;
         INSERT INTO tokens (action, account) VALUES ('password_recovery', 6)"
    same "waiting at 000001" "5 9 10 11" "$(waiting_by_id)"

    up_to_latest
    same "waiting at the latest" "5 9 10 11" "$(waiting_by_xid)"
    move_cursor 2
    same "two were delivered" "10 11" "$(waiting_by_xid)"

    # Two transactions whose ids and numbers run in opposite directions, and of
    # which only the first is delivered: id 13, while id 12 goes on waiting.
    sql "SELECT nextval('tokens_id_seq')" >/dev/null
    sql "INSERT INTO tokens (action, account) VALUES ('password_recovery', 6)"
    sql "INSERT INTO tokens (id, action, account) VALUES (12, 'password_recovery', 6)"
    same "commit-safe order" "10 11 13 12" "$(waiting_by_xid)"
    move_cursor 3
    same "before going down" "12" "$(waiting_by_xid)"

    down_to 1
    same "the old cursor loses none" "12 13" "$(waiting_by_id)"
    up_to_latest
    same "up again" "12 13" "$(waiting_by_xid)"
    move_cursor 2
    down_to 1
    same "nothing waits, the old cursor knows" "" "$(waiting_by_id)"
    same "the highest id is the cursor" 13 "$(sql 'SELECT last_seq FROM jobs')"
    sql "INSERT INTO tokens (action, account) VALUES ('password_recovery', 6)"
    same "and the next token is seen" 14 "$(waiting_by_id)"
}

# One transaction has its number before 000004 and inserts after it; the other
# has inserted before, so that the migration has to wait for it.
transactions_older_than_the_cursor_are_delivered()
{
    new_database concurrent
    up 1
    up 2
    up 3
    add_accounts 1 3
    sql "UPDATE jobs SET last_seq = 2"
    open_session "$server_dir/early"
    exec 3>"$server_dir/early"
    echo "BEGIN; SELECT pg_current_xact_id();" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"

    open_session "$server_dir/midway"
    exec 4>"$server_dir/midway"
    echo "BEGIN; INSERT INTO accounts (email, login) VALUES ('m@x', 'm');" >&4
    until_true "SELECT count(*) = 2 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    up 4 &
    migration=$!
    until_true "SELECT count(*) = 1 FROM pg_locks
        WHERE relation = 'tokens'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted"
    echo "COMMIT;" >&4
    exec 4>&-
    wait "$migration"
    same "old rows wait, the horizon stands" "3 4" "$(waiting_by_xid)"
    move_cursor 2
    add_accounts 11 11
    same "younger than the open transaction" "" "$(waiting_by_xid)"

    echo "INSERT INTO accounts (email, login) VALUES ('e@x', 'e'); COMMIT;" >&3
    exec 3>&-
    until_true "SELECT count(*) = 1 FROM accounts WHERE email = 'e@x'"
    same "the old transaction comes first" "6 5" "$(waiting_by_xid)"
    down 4
    same "and down again loses none" "5 6" "$(waiting_by_id)"
}

# Each row: the old status, whether the account was activated before, the new status; and then the
# result: its status, and c(hanged) a(ctivated) s(uspended) u(nsuspended) where set.
status_changes()
{
    new_database status
    up_to_latest
    sql "CREATE FUNCTION change(was account_status, activated int, unsuspended int,
            becomes account_status) RETURNS text LANGUAGE plpgsql AS \$\$
        DECLARE
            a accounts;
        BEGIN
            DELETE FROM accounts;
            INSERT INTO accounts (email, login, status, activated_at, suspended_at, unsuspended_at)
                VALUES ('a', 'a', was, activated,
                    CASE WHEN was = 'suspended' THEN 1 END, unsuspended);
            UPDATE accounts SET status = becomes RETURNING * INTO a;
            RETURN a.status || ' ' || CASE WHEN a.status_changed_at > 1 THEN 'c' ELSE '' END
                || CASE WHEN a.activated_at IS NULL THEN '' WHEN a.activated_at = 1 THEN 'a'
                   ELSE 'A' END
                || CASE WHEN a.suspended_at IS NULL THEN '' WHEN a.suspended_at = 1 THEN 's'
                   ELSE 'S' END
                || CASE WHEN a.unsuspended_at IS NULL THEN '' WHEN a.unsuspended_at = 1 THEN 'u'
                   ELSE 'U' END;
        END \$\$"
    # Capitals were set by the change itself.
    transition provisioned NULL NULL provisioned 'provisioned '
    transition provisioned NULL NULL active 'active cA'
    transition provisioned NULL NULL suspended 'suspended cS'
    transition active 1 NULL active 'active a'
    transition active 1 1 suspended 'suspended caS'
    transition suspended 1 NULL active 'active caU'
    transition suspended NULL NULL active 'provisioned cU'
    transition suspended NULL NULL suspended 'suspended s'

    sql "DELETE FROM accounts; INSERT INTO accounts (email, login) VALUES ('b', 'b');
         UPDATE tokens SET consumed_at = 1;"
    same "using the activation link" "active t" "$(sql "SELECT status || ' ' ||
        CASE WHEN activated_at > 1 THEN 't' ELSE 'f' END FROM accounts")"
    sql "UPDATE accounts SET status = 'suspended'; UPDATE tokens SET consumed_at = NULL;
         UPDATE tokens SET consumed_at = 1;"
    same "does not lift a suspension" suspended "$(sql 'SELECT status FROM accounts')"
    sql "INSERT INTO accounts (email, login, status) VALUES ('c', 'c', 'active')"
    same "an active account gets no activation" 1 "$(sql 'SELECT count(*) FROM tokens')"
}

every_token_is_announced()
{
    new_database announce
    up 1
    up 2
    same "folded at 000002" 1 "$(announcements two)"
    up 3
    same "each at 000003" 2 "$(announcements more)"
}

codes_are_five_digits()
{
    new_database codes
    up 1
    up 2
    # The defect shows once in 200,000 codes, so it would hardly hide in ten times as many.
    code=$(sql "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
        WHERE adrelid = 'tokens'::regclass AND adnum = (SELECT attnum FROM pg_attribute
            WHERE attrelid = adrelid AND attname = 'code')")
    same "codes that are not five digits, and leading digits seen" "0 10" "$(sql "
        SELECT count(*) FILTER (WHERE code !~ '^[0-9]{5}\$') || ' ' || count(DISTINCT left(code, 1))
        FROM (SELECT $code AS code FROM generate_series(1, 2000000)) c")"
}

unsendable_accounts_are_refused()
{
    new_database unsendable
    up 1
    sql "INSERT INTO accounts (email, login) VALUES ('old,bad@x', 'old')"
    up_to_latest
    for bad in ',' '"' '\n' '\r' '\t' '\u0001' '\u001f' '\u007f' '\u0080' '\u0085' '\u009f'; do
        refused "email with $bad" "INSERT INTO accounts (email, login) VALUES (E'a${bad}b', 'a')"
        refused "login with $bad" "INSERT INTO accounts (email, login) VALUES ('a', E'a${bad}b')"
    done
    sql "INSERT INTO accounts (email, login) VALUES (E'd''\u00e4 \u00a0;@x', 'd~\!')"
    refused "a changed email" "UPDATE accounts SET email = 'a,b' WHERE login = 'old'"
    refused "a changed login" "UPDATE accounts SET login = 'a,b' WHERE login = 'old'"
    sql "UPDATE accounts SET status = 'suspended' WHERE login = 'old'"
    sql "UPDATE accounts SET email = email, login = 'renamed' WHERE login = 'old'"
    same "no token of a refused account" 2 "$(sql 'SELECT count(*) FROM tokens')"
}

# A database of its own can have a now() that lies. Column defaults that were made
# before use it, too.
time_goes_on_after_2038()
{
    new_database future
    up_to_latest
    sql "CREATE OR REPLACE FUNCTION pg_catalog.now() RETURNS timestamptz LANGUAGE sql STABLE
         AS \$\$ SELECT timestamptz '2040-01-01 00:00:00+00' \$\$"
    sql "INSERT INTO accounts (email, login) VALUES ('f', 'f');
         UPDATE tokens SET consumed_at = extract(epoch FROM now());
         UPDATE accounts SET status = 'suspended';
         INSERT INTO dead_letters (token, account, action, reason) VALUES (1, 1, 'activation', '')"
    same "seconds of 2040" "2208988800 2208988800 2208988800 2208988800 2208989700 2208988800" "$(sql "
        SELECT concat_ws(' ', a.created_at, activated_at, suspended_at, t.created_at, expires_at,
            d.created_at) FROM accounts a, tokens t, dead_letters d")"
    down_to 6
    same "as late as an integer can be" "2147483647 2147483647" "$(sql "
        SELECT concat_ws(' ', a.created_at, expires_at) FROM accounts a, tokens")"
}

the_role_can_do_its_work_only()
{
    new_database role
    up_to_latest
    add_accounts 1 1
    # These are PostgreSQL's rights from 15 on.
    sql "REVOKE CREATE ON SCHEMA public FROM public"
    sql "SET ROLE mailroom_collector;
         SELECT t.*, a.email, a.login FROM tokens t JOIN accounts a ON a.id = t.account;
         UPDATE jobs SET last_seq = 1, last_xid = '5', epoch = epoch + 1 WHERE last_seq = 0;
         INSERT INTO dead_letters (token, account, action, reason)
             VALUES (1, 1, 'activation', 'test')" >/dev/null
    for forbidden in "SELECT created_at FROM accounts" "SELECT * FROM dead_letters" \
        "INSERT INTO accounts (email, login) VALUES ('x', 'x')" "DELETE FROM accounts" \
        "UPDATE accounts SET status = 'active'" "UPDATE accounts SET email = 'x'" \
        "INSERT INTO tokens (action, account) VALUES ('activation', 1)" \
        "UPDATE tokens SET consumed_at = 1" "UPDATE tokens SET xid = '0'" "DELETE FROM tokens" \
        "UPDATE jobs SET job_type = 'mailroom'" "UPDATE jobs SET mode = 'cursor'" \
        "UPDATE jobs SET cluster = ''" \
        "SELECT mailroom_switch_mode('mailroom', 'shared')" "INSERT INTO jobs VALUES ('mailroom', 1)" \
        "DELETE FROM jobs" "UPDATE dead_letters SET reason = ''" "TRUNCATE dead_letters" \
        "CREATE TABLE mine ()" "CREATE SCHEMA mine" "DROP TABLE tokens" \
        "ALTER TABLE tokens DISABLE TRIGGER ALL" "CREATE ROLE mine" \
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'" \
        "SELECT pg_read_file('postgresql.conf')" "COPY tokens TO PROGRAM 'cat'"; do
        denied "$forbidden"
    done
    only_these_functions_are_for_the_collector
    nothing_else_is_granted

    new_database role_too
    up_to_latest
    sql "DROP DATABASE at_latest"
    down_to 8
    same "the role stays while another database needs it" 1 "$(collector_roles)"
    PGDATABASE=role
    at=$latest
    down_to 8
    same "and goes with the last one" 0 "$(collector_roles)"
}

# Among all functions that migrations have made, the collector may call these only, and
# other roles none. (A trigger's function cannot be called.)
only_these_functions_are_for_the_collector()
{
    ours="FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
        AND prorettype <> 'trigger'::regtype AND NOT EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')"
    same "functions for the collector" \
        "mailroom_answer mailroom_bell mailroom_cluster mailroom_free mailroom_join mailroom_lease mailroom_leave mailroom_lock_key mailroom_others mailroom_partitions mailroom_renew mailroom_settle mailroom_spend" \
        "$(sql "SELECT string_agg(proname, ' ' ORDER BY proname) $ours
            AND has_function_privilege('mailroom_collector', p.oid, 'EXECUTE')")"
    sql "CREATE ROLE stranger"
    same "functions for anybody" "" "$(sql "SELECT string_agg(proname, ' ') $ours
        AND has_function_privilege('stranger', p.oid, 'EXECUTE')")"
    same "functions with others' rights and a search path of the caller's" "" \
        "$(sql "SELECT string_agg(proname, ' ') $ours AND prosecdef
            AND NOT EXISTS (SELECT FROM unnest(proconfig) AS c WHERE c LIKE 'search_path=pg_catalog, %pg_temp')")"
    sql "DROP ROLE stranger"
}

# Reads all rights of the role on tables, columns and sequences from the catalog, so
# that a right too many shows wherever it was granted.
nothing_else_is_granted()
{
    same "grants" "accounts: SELECT(email,id,login,status)
budgets: SELECT
cursors: SELECT UPDATE(id,n,seen,tick,xid)
dead_letters: INSERT
dead_letters_id_seq: USAGE
deliveries: DELETE INSERT SELECT UPDATE(owner,tokens)
jobs: SELECT UPDATE(epoch,holder,last_seq,last_xid,renewed)
owners: DELETE INSERT SELECT UPDATE(renewed)
tokens: SELECT" "$(sql "
        WITH acl AS (
            SELECT c.relname, c.relnamespace, NULL AS attname, a.grantee, a.privilege_type
            FROM pg_class c, aclexplode(c.relacl) a
            UNION ALL
            SELECT c.relname, c.relnamespace, t.attname, a.grantee, a.privilege_type
            FROM pg_attribute t JOIN pg_class c ON c.oid = attrelid AND NOT attisdropped,
                aclexplode(t.attacl) a
        ), grants AS (
            SELECT relname, privilege_type || coalesce('(' ||
                string_agg(attname, ',' ORDER BY attname) || ')', '') AS what
            FROM acl
            WHERE grantee IN (0, 'mailroom_collector'::regrole) -- 0: everybody
              AND relnamespace = 'public'::regnamespace
            GROUP BY relname, privilege_type
        )
        SELECT relname || ': ' || string_agg(what, ' ' ORDER BY what)
        FROM grants GROUP BY relname ORDER BY relname")"
    same "memberships" 0 "$(sql "SELECT count(*) FROM pg_auth_members
        WHERE member = 'mailroom_collector'::regrole")"
    same "attributes" f "$(sql "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolcanlogin
        OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = 'mailroom_collector'")"
}

an_older_pgcrypto_stays()
{
    new_database extension
    sql "CREATE EXTENSION pgcrypto"
    up 1
    down 1
    same "pgcrypto that was here" 1 "$(sql "SELECT count(*) FROM pg_extension
        WHERE extname = 'pgcrypto'")"
}

# A cursor that collectors have moved, up, on and down again. Tokens 1 to 4 were
# dequeued; 8 is inserted by a transaction that is older than the new cursor.
a_used_cursor_becomes_a_snapshot()
{
    new_database snapshot
    while [ "$at" -lt 15 ]; do up $((at + 1)); done
    add_accounts 1 6
    sql "UPDATE tokens SET xid = '0' WHERE id = 1"
    sql "UPDATE jobs SET epoch = 1, (last_xid, last_seq) = (SELECT xid, id FROM tokens WHERE id = 4)"
    open_session "$server_dir/older"
    exec 3>"$server_dir/older"
    echo "BEGIN; SELECT pg_current_xact_id();" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    add_accounts 7 7
    up_to_latest
    same "the older cursor still counts" "5 6 7" "$(left_over_or_untaken)"
    same "tokens that wait" 3 "$(sql "SELECT mailroom_settle('mailroom', 'cursor')")"
    same "and once more" "" "$(sql "SELECT mailroom_settle('mailroom', 'cursor')")"
    same "nobody's" "5 6 7" "$(left_over_or_untaken)"
    echo "INSERT INTO accounts (email, login) VALUES ('u8@x', 'u8'); COMMIT;" >&3
    exec 3>&-
    until_true "SELECT count(*) = 1 FROM accounts WHERE login = 'u8'"
    add_accounts 9 10
    same "an older transaction's token" "5 6 7 8 9 10" "$(left_over_or_untaken)"
    # Moves the cursor as a collector does that has delivered the tokens up to 9.
    sql "UPDATE cursors SET n = n + 1, seen = tick, tick = pg_current_snapshot(),
             (xid, id) = (SELECT xid, id FROM tokens WHERE id = 9)"
    same "going on" "10" "$(left_over_or_untaken)"
    add_accounts 11 11
    down_to 15
    same "down, none is lost" "10 11" "$(waiting_by_xid)"
    up_to_latest
    same "up again" "10 11" "$(left_over_or_untaken)"
    sql "SELECT mailroom_settle('mailroom', 'cursor')" >/dev/null
    same "and once more" "10 11" "$(left_over_or_untaken)"
}

a_shared_queue_stays_shared()
{
    new_database shared
    while [ "$at" -lt 15 ]; do up $((at + 1)); done
    sql "SELECT mailroom_switch_mode('mailroom', 'skip-locked')" >/dev/null
    add_accounts 1 6
    sql "UPDATE tokens SET processed_at = 1 WHERE id IN (2, 4); UPDATE jobs SET epoch = 1;
         UPDATE tokens SET claimed_by = 1 WHERE id = 3"
    refused_up=$(psql -v ON_ERROR_STOP=1 -qX -f "$(echo "$here"/migrations/000016_*.up.sql)" 2>&1 || true)
    case $refused_up in
    *"collectors still have claims"*) ;;
    *) failed "an open claim: $refused_up" ;;
    esac
    sql "UPDATE tokens SET claimed_by = NULL"
    up_to_latest
    same "mode" shared "$(sql "SELECT mode FROM jobs")"
    same "what was not marked" "1 3 5 6" "$(left_over_or_untaken)"
    down_to 15
    same "mode, down" skip-locked "$(sql "SELECT mode FROM jobs")"
    same "what is not marked" "1 3 5 6" "$(sql "SELECT string_agg(id::text, ' ' ORDER BY id)
        FROM tokens WHERE processed_at IS NULL")"
    up_to_latest
    same "what was not marked, up again" "1 3 5 6" "$(left_over_or_untaken)"
}

# Tokens of the very transaction that makes the cursor; and, in a restored dump,
# tokens inserted since, also behind a savepoint.
a_new_cursor_loses_nothing()
{
    new_database afresh
    up_to_latest
    sql "BEGIN;
         INSERT INTO accounts (email, login) VALUES ('u1@x', 'u1');
         SELECT mailroom_settle('mailroom', 'cursor');
         INSERT INTO accounts (email, login) VALUES ('u2@x', 'u2');
         COMMIT" >/dev/null
    same "of its own transaction" "1 2" "$(left_over_or_untaken)"
    sql "DELETE FROM deliveries; UPDATE cursors SET n = n + 1, seen = pg_current_snapshot(),
             tick = pg_current_snapshot()"
    same "all is taken" "" "$(left_over_or_untaken)"
    sql "UPDATE jobs SET cluster = 'elsewhere'"
    sql "BEGIN; SAVEPOINT a; INSERT INTO accounts (email, login) VALUES ('u3@x', 'u3');
         ROLLBACK TO a; SAVEPOINT b; INSERT INTO accounts (email, login) VALUES ('u4@x', 'u4');
         COMMIT"
    # The old cluster's numbers may have been higher.
    sql "UPDATE cursors SET n = n + 1, seen = '900000:900000:', tick = '900000:900000:'"
    same "behind a savepoint" 1 "$(sql "SELECT mailroom_settle('mailroom', 'cursor')")"
    same "and it is that one" "4" "$(left_over_or_untaken)"
}

# Moves of the cursor leave versions behind that a snapshot keeps; the next move
# looks at none of them.
an_old_snapshot_costs_nothing()
{
    new_database old
    up_to_latest
    open_session "$server_dir/report"
    exec 3>"$server_dir/report"
    echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM tokens;" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL"
    sql "DO \$\$ BEGIN FOR i IN 1..5000 LOOP
             UPDATE cursors SET n = n + 1, id = i WHERE queue = 'mailroom' AND lane = 1 AND n = i - 1;
             COMMIT;
         END LOOP; END \$\$"
    buffers=$(sql "SET enable_seqscan = off; SET enable_bitmapscan = off;
        EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM cursors
        WHERE queue = 'mailroom' AND lane = 1 ORDER BY n DESC LIMIT 1" |
        sed -n 's/.*"Shared Hit Blocks": \([0-9]*\).*/\1/p' | head -n 1)
    [ "$buffers" -lt 20 ] || failed "finding the cursor behind 5000 versions takes $buffers pages"
    exec 3>&-
}

a_conflict_makes_no_token()
{
    new_database conflict
    up_to_latest
    for _ in 1 2; do
        sql "INSERT INTO accounts (email, login) VALUES ('c@x', 'c') ON CONFLICT DO NOTHING"
    done
    sql "INSERT INTO accounts (email, login) VALUES ('c@x', 'c')
         ON CONFLICT (email) DO UPDATE SET login = 'd'"
    same "accounts and tokens of three upserts" "1 1" "$(sql "SELECT
        (SELECT count(*) FROM accounts) || ' ' || (SELECT count(*) FROM tokens)")"
}

another_search_path_finds_the_tables()
{
    new_database elsewhere
    up_to_latest
    sql "CREATE SCHEMA decoy; CREATE TABLE decoy.tokens (LIKE public.tokens);
         CREATE TABLE decoy.accounts (LIKE public.accounts);
         SET search_path = decoy;
         INSERT INTO public.accounts (email, login) VALUES ('e', 'e');
         UPDATE public.tokens SET consumed_at = 1"
    same "the token, and the account that it activated" "1 active" "$(sql "
        SELECT count(*) || ' ' || min(a.status::text) FROM tokens t JOIN accounts a ON a.id = account")"
}

partitions_become_one_table()
{
    new_database partitioned
    while [ "$at" -lt 23 ]; do up $((at + 1)); done
    add_accounts 1 5
    photograph >"$server_dir/before"
    up 24
    sql "CALL mailroom_partition()"
    down 24
    photograph >"$server_dir/after"
    diff "$server_dir/before" "$server_dir/after" || failed "partitions leave a trace"
    up 24
    for i in 1 2 3; do
        sql "CALL mailroom_partition()"
        add_accounts "${i}1" "${i}5"
    done
    sql "UPDATE tokens SET expires_at = 1" # a row of each partition
    down 24
    same "tokens of all partitions" "20 20" "$(sql "SELECT count(*) || ' ' || count(DISTINCT secret)
        FROM tokens")"
    add_accounts 41 41
    same "and one more" 21 "$(sql "SELECT count(*) FROM tokens")"
}

# A token that was inserted in the second half of a second has the next second as its time.
a_lane_ages_by_the_second()
{
    new_database ageing
    up_to_latest
    make_lanes
    sql "SELECT pg_sleep((2.55 - extract(epoch FROM clock_timestamp())::numeric % 1) % 1)" >/dev/null
    add_accounts 1 1
    same "a young token's turn" "r1" "$(lease_aged 30)"
    sql "SELECT pg_sleep(greatest(0, max(a.created_at) + 0.55 - extract(epoch FROM clock_timestamp())))
        FROM accounts AS a" >/dev/null
    same "an aged token's turn" "u1" "$(lease_aged 0)"
}

# A lease of one token looks at 1004 at most.
tokens_that_expired_keep_no_lane_from_ageing()
{
    new_database expired_lane
    up_to_latest
    make_lanes
    add_accounts 1 2010
    sql "UPDATE tokens SET expires_at = 1, created_at = 1 WHERE action = 'activation';
         INSERT INTO accounts (email, login) VALUES ('last@x', 'last');
         UPDATE tokens SET created_at = 1 WHERE id = (SELECT max(id) FROM tokens)"
    same "the turns of a lane that begins with expired tokens" "  last" \
        "$(lease_aged 30) $(lease_aged 30) $(lease_aged 30)"
}

# Two lanes, and five recoveries in the higher one.
make_lanes()
{
    sql "SELECT mailroom_lanes('password_recovery,activation')" >/dev/null
    sql "INSERT INTO accounts (email, login, status)
             SELECT 'r' || n || '@x', 'r' || n, 'active' FROM generate_series(1, 5) n;
         INSERT INTO tokens (action, account, code)
             SELECT 'password_recovery', id, '12345' FROM accounts"
}

# Leases a line of one token, which is the lower lane's if that has aged, and prints its login.
lease_aged() # ageing in seconds
{
    sql "SELECT login FROM mailroom_lease('mailroom', 1, 1, 1, aged_turn => true, ageing_s => $1)
        WHERE kind = 1"
}

# --- what they are made of ---------------------------------------------------

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
    while [ "$at" -lt "$latest" ]; do up $((at + 1)); done
    [ "$started_at" -ne 0 ] || sql "CREATE DATABASE at_latest TEMPLATE $PGDATABASE" dbname=postgres
}

eligible="consumed_at IS NULL AND expires_at > extract(epoch FROM now())
    AND (action, status) IN (('activation', 'provisioned'), ('password_recovery', 'active'))"
tokens="jobs, tokens JOIN accounts ON accounts.id = account"

waiting_by_id()
{
    sql "SELECT string_agg(tokens.id::text, ' ' ORDER BY tokens.id) FROM $tokens
         WHERE tokens.id > last_seq AND $eligible"
}

waiting_by_xid()
{
    sql "SELECT string_agg(tokens.id::text, ' ' ORDER BY xid, tokens.id) FROM $tokens
         WHERE (xid, tokens.id) > (last_xid, last_seq)
           AND xid < pg_snapshot_xmin(pg_current_snapshot()) AND $eligible"
}

# Prints the tokens that wait in a queue whose cursor is a pair of snapshots, and those that are
# left over in deliveries.
left_over_or_untaken()
{
    sql "SELECT string_agg(t.id::text, ' ' ORDER BY t.id) FROM (
             SELECT token FROM mailroom_untaken('mailroom')
             UNION ALL SELECT unnest(tokens) FROM deliveries) AS w JOIN tokens AS t ON t.id = w.token"
}

# Moves the cursor as a collector does that has delivered so many tokens.
move_cursor() # tokens
{
    sql "UPDATE jobs SET (last_xid, last_seq) = (SELECT xid, tokens.id FROM $tokens
         WHERE (xid, tokens.id) > (last_xid, last_seq)
           AND xid < pg_snapshot_xmin(pg_current_snapshot()) AND $eligible
         ORDER BY xid, tokens.id OFFSET $1 - 1 LIMIT 1)"
}

transition() # from, activated_at, unsuspended_at, to, expected
{
    same "$1 to $4" "$5" "$(sql "SELECT change('$1', $2, $3, '$4')")"
}

# Prints how many announcements two inserts in one transaction cause.
announcements() # prefix
{
    psql -qAtX -c 'LISTEN token_insert' -c "INSERT INTO accounts (email, login)
        VALUES ('$1a', '$1a'), ('$1b', '$1b')" | grep -c 'notification "token_insert"'
}

refused() # what, statement
{
    same "refuse $1" 23514 "$(sqlstate "$2")"
}

denied() # statement
{
    same "deny $1" 42501 "$(sqlstate "SET ROLE mailroom_collector; $1")"
}

sqlstate() # statement that fails
{
    psql -X -v VERBOSITY=sqlstate -qAt -c "$1" 2>&1 | sed -n 's/^ERROR:  //p'
}

main
[ "$failures" -eq 0 ]
