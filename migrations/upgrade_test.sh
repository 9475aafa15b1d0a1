#!/bin/sh
# Takes databases up and down through the migrations and looks at what a collector would deliver
# afterwards, not only at the schema.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
# shellcheck source=migrations/test_lib.sh
. "$here/migrations/test_lib.sh"

main()
{
    start_server
    forget_comments
    each_down_undoes_its_up
    all_downs_undo_all_ups
    waiting_tokens_are_delivered
    transactions_older_than_the_cursor_are_delivered
    an_older_pgcrypto_stays
    a_used_cursor_becomes_a_snapshot
    a_shared_queue_stays_shared
    a_restored_dump_is_migrated
    a_new_cursor_loses_nothing
    an_old_snapshot_costs_nothing
    partitions_become_one_table
    an_unreleased_level_is_refused
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
    database_at "$latest" undo_all
    down_to 0
    nothing_is_left
}

nothing_is_left()
{
    same "tables left when all is undone in $PGDATABASE" 0 "$(sql "SELECT count(*) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace")"
}

# Tokens 1 to 4 were dequeued. 6 is consumed, 7 has expired, and 8 belongs to a suspended account; 11
# is a password recovery.
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

    up_to "$latest"
    same "waiting at the latest" "5 9 10 11" "$(waiting_by_xid)"
    move_cursor 2
    same "two were delivered" "10 11" "$(waiting_by_xid)"

    # Tokens 13 and 12 are inserted in this order, by two transactions. 13 is delivered, and 12 goes
    # on waiting.
    sql "SELECT nextval('tokens_id_seq')" >/dev/null
    sql "INSERT INTO tokens (action, account) VALUES ('password_recovery', 6)"
    sql "INSERT INTO tokens (id, action, account) VALUES (12, 'password_recovery', 6)"
    same "commit-safe order" "10 11 13 12" "$(waiting_by_xid)"
    move_cursor 3
    same "before going down" "12" "$(waiting_by_xid)"

    down_to 1
    same "the old cursor loses none" "12 13" "$(waiting_by_id)"
    up_to "$latest"
    same "up again" "12 13" "$(waiting_by_xid)"
    move_cursor 2
    down_to 1
    same "nothing waits, the old cursor knows" "" "$(waiting_by_id)"
    same "the highest id is the cursor" 13 "$(sql 'SELECT last_seq FROM jobs')"
    sql "INSERT INTO tokens (action, account) VALUES ('password_recovery', 6)"
    same "and the next token is seen" 14 "$(waiting_by_id)"
}

# Two transactions are open when 000004 begins. One has its number and inserts afterwards. The other
# has inserted before, so the migration has to wait for it.
transactions_older_than_the_cursor_are_delivered()
{
    new_database concurrent
    up_to 3
    add_accounts 1 3
    sql "UPDATE jobs SET last_seq = 2"
    open_session "$server_dir/early"
    exec 3>"$server_dir/early"
    echo "BEGIN; SELECT pg_current_xact_id();" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"

    open_session "$server_dir/midway"
    exec 5>"$server_dir/midway"
    echo "BEGIN; INSERT INTO accounts (email, login) VALUES ('m@x', 'm');" >&5
    until_true "SELECT count(*) = 2 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    (leave_server_session; up 4) &
    migration=$!
    until_true "SELECT count(*) = 1 FROM pg_locks
        WHERE relation = 'tokens'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted"
    echo "COMMIT;" >&5
    exec 5>&-
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

an_older_pgcrypto_stays()
{
    new_database extension
    sql "CREATE EXTENSION pgcrypto"
    up 1
    down 1
    same "pgcrypto that was here" 1 "$(sql "SELECT count(*) FROM pg_extension
        WHERE extname = 'pgcrypto'")"
}

# Takes a cursor that collectors have moved up, on and down again. Tokens 1 to 4 were dequeued; 8 is
# inserted by a transaction that is older than the new cursor.
a_used_cursor_becomes_a_snapshot()
{
    database_at 15 snapshot
    add_accounts 1 6
    sql "UPDATE tokens SET xid = '0' WHERE id = 1"
    sql "UPDATE jobs SET epoch = 1, (last_xid, last_seq) = (SELECT xid, id FROM tokens WHERE id = 4)"
    open_session "$server_dir/older"
    exec 3>"$server_dir/older"
    echo "BEGIN; SELECT pg_current_xact_id();" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    add_accounts 7 7
    up_to "$latest"
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
    up_to "$latest"
    same "up again" "10 11" "$(left_over_or_untaken)"
    sql "SELECT mailroom_settle('mailroom', 'cursor')" >/dev/null
    same "and once more" "10 11" "$(left_over_or_untaken)"
}

a_shared_queue_stays_shared()
{
    database_at 15 shared
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
    up_to "$latest"
    same "mode" shared "$(sql "SELECT mode FROM jobs")"
    same "what was not marked" "1 3 5 6" "$(left_over_or_untaken)"
    down_to 15
    same "mode, down" skip-locked "$(sql "SELECT mode FROM jobs")"
    same "what is not marked" "1 3 5 6" "$(sql "SELECT string_agg(id::text, ' ' ORDER BY id)
        FROM tokens WHERE processed_at IS NULL")"
    up_to "$latest"
    same "what was not marked, up again" "1 3 5 6" "$(left_over_or_untaken)"
}

# The transaction that makes the cursor inserts tokens itself. A restored dump has tokens that were
# inserted after the cursor was made, some of them behind a savepoint.
a_new_cursor_loses_nothing()
{
    database_at "$latest" afresh
    sql "BEGIN;
         INSERT INTO accounts (email, login) VALUES ('u1@x', 'u1');
         SELECT mailroom_settle('mailroom', 'cursor');
         INSERT INTO accounts (email, login) VALUES ('u2@x', 'u2');
         COMMIT" >/dev/null
    same "of its own transaction" "1 2" "$(left_over_or_untaken)"
    sql "DELETE FROM deliveries; UPDATE cursors SET n = n + 1, seen = pg_current_snapshot(),
             tick = pg_current_snapshot()"
    same "all is taken" "" "$(left_over_or_untaken)"
    # The old cluster's numbers may have been higher.
    sql "UPDATE cursors SET n = n + 1, seen = '900000:900000:', tick = '900000:900000:'"
    sql "BEGIN; SAVEPOINT a; INSERT INTO accounts (email, login) VALUES ('u3@x', 'u3');
         ROLLBACK TO a; SAVEPOINT b; INSERT INTO accounts (email, login) VALUES ('u4@x', 'u4');
         COMMIT"
    same "behind a savepoint" 1 "$(sql "SELECT mailroom_settle('mailroom', 'cursor')")"
    same "and it is that one" "4" "$(left_over_or_untaken)"
}

# A dump of an old level is restored into a cluster with lower numbers, the application inserts, and only
# then come the migrations.
a_restored_dump_is_migrated()
{
    for level in 11 12 15; do
        database_at "$level" "restored_at_$level"
        add_accounts 1 5
        sql "UPDATE tokens SET xid = (900000 + id)::text::xid8;
             UPDATE jobs SET last_xid = '900003', last_seq = 3"
        add_accounts 6 7
        sql "BEGIN; SAVEPOINT a; INSERT INTO accounts (email, login) VALUES ('u8@x', 'u8'); COMMIT"
        up_to "$latest"
        add_accounts 9 9
        sql "SELECT mailroom_settle('mailroom', 'cursor')" >/dev/null
        same "restored at level $level" "4 5 6 7 8 9" "$(left_over_or_untaken)"
    done
}

# Moves of the cursor leave versions behind, and an old snapshot keeps them. The next move looks at
# none of them.
an_old_snapshot_costs_nothing()
{
    database_at "$latest" old
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

partitions_become_one_table()
{
    new_database partitioned
    up_to 19
    add_accounts 1 5
    photograph >"$server_dir/before"
    up 20
    sql "CALL mailroom_partition()"
    down 20
    photograph >"$server_dir/after"
    diff "$server_dir/before" "$server_dir/after" || failed "partitions leave a trace"
    up 20
    for i in 1 2 3; do
        sql "CALL mailroom_partition()"
        add_accounts "${i}1" "${i}5"
    done
    sql "UPDATE tokens SET expires_at = 1" # a row of each partition
    down 20
    same "tokens of all partitions" "20 20" "$(sql "SELECT count(*) || ' ' || count(DISTINCT secret)
        FROM tokens")"
    add_accounts 41 41
    same "and one more" 21 "$(sql "SELECT count(*) FROM tokens")"
}

# Between 000015 and the first release other migrations had these numbers.
an_unreleased_level_is_refused()
{
    database_at 15 unreleased
    sql "CREATE TABLE cursors (); CREATE TABLE deliveries ()"
    refused_up=$(psql -v ON_ERROR_STOP=1 -qX -f "$(migration 16 up)" 2>&1 || true)
    case $refused_up in
    *"unreleased version"*"down to 000015"*) ;;
    *) failed "an unreleased level: $refused_up" ;;
    esac
}

# --- helpers ----------------------------------------------------------------

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

# Moves the cursor as a collector does that has delivered this many tokens.
move_cursor() # tokens
{
    sql "UPDATE jobs SET (last_xid, last_seq) = (SELECT xid, tokens.id FROM $tokens
         WHERE (xid, tokens.id) > (last_xid, last_seq)
           AND xid < pg_snapshot_xmin(pg_current_snapshot()) AND $eligible
         ORDER BY xid, tokens.id OFFSET $1 - 1 LIMIT 1)"
}

main
[ "$failures" -eq 0 ]
