#!/bin/sh
# Old partitions are dropped under load, in every mode: no token is lost, none comes twice, and no
# waiting token is dropped.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

rounds=25

main()
{
    start_server
    for mode in cursor shared leased; do
        export PGDATABASE=postgres
        sql "CREATE DATABASE in_$mode"
        export PGDATABASE="in_$mode" MAILROOM_DEQUEUE=$mode
        migrate
        a_used_table_becomes_a_partition
        partitions_come_and_go_under_load
        waiting_tokens_stay
        a_batch_looks_at_indexes_only
    done
    an_obstacle_is_named
    inserts_do_not_wait_for_a_drop
    the_bell_and_a_restore_know_all_partitions
    one_table_again
    echo "partitions come and go"
}

collect() # name
{
    if [ "$MAILROOM_DEQUEUE" = leased ]; then
        run "$1" -- "$SOURCE_DIR/collector/tests/test_sender.sh" "$server_dir/$1.got"
    else
        run "$1"
    fi
}

# Prints the numbers of all and of distinct tokens of these collectors.
delivered() # names
{
    if [ "$MAILROOM_DEQUEUE" != leased ]; then
        tokens "$@"
        return
    fi
    for name in "$@"; do cat "$server_dir/$name.got"; done |
        awk '{ all++; if (!seen[$0]++) distinct++ } END { print all + 0, distinct + 0 }'
}

# Adds accounts whose tokens test_sender.sh answers as sent.
add_ok() # first, last
{
    sql "INSERT INTO accounts (email, login) SELECT 'ok' || n || '@x', 'ok' || n
         FROM generate_series($1, $2) n"
}

# The table has a trigger and a right that others added.
a_used_table_becomes_a_partition()
{
    sql "CREATE TABLE made (token bigint);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO public.made VALUES (NEW.id); RETURN NULL; END';
         CREATE TRIGGER note AFTER INSERT ON tokens FOR EACH ROW EXECUTE FUNCTION note();
         GRANT UPDATE (consumed_at) ON tokens TO mailroom_collector"
    add_ok 1 50
    collect "$mode-1"
    drained
    sql "CALL mailroom_partition()"
    add_ok 51 100
    drained
    same "$mode: tokens before and behind the cut" "50 50" "$(sql "SELECT
        count(*) FILTER (WHERE tableoid = 'tokens_1'::regclass) || ' ' ||
        count(*) FILTER (WHERE tableoid = 'tokens_2'::regclass) FROM tokens")"
    same "$mode: the right" t "$(sql "SELECT has_column_privilege('mailroom_collector', 'tokens',
        'consumed_at', 'UPDATE')")"
    same "$mode: delivered" "100 100" "$(delivered "$mode-1")"
}

# Prints the statements of a producer: short and long transactions, rollbacks to savepoints, and
# bulk inserts.
produce() # number
{
    for i in $(seq "$rounds"); do
        at=$(($1 * 1000000 + i * 1000))
        cat <<SQL
INSERT INTO accounts (email, login) SELECT 'ok' || n || '@x', 'ok' || n
    FROM generate_series($at, $at + 19) n;
BEGIN;
INSERT INTO accounts (email, login) VALUES ('ok$((at + 100))@x', 'ok$((at + 100))');
SAVEPOINT a;
INSERT INTO accounts (email, login) VALUES ('ok$((at + 101))@x', 'ok$((at + 101))');
ROLLBACK TO a;
SELECT pg_sleep(0.$(($1 % 3)));
INSERT INTO accounts (email, login) VALUES ('ok$((at + 102))@x', 'ok$((at + 102))');
COMMIT;
SQL
    done
}

partitions_come_and_go_under_load()
{
    for producer in 1 2 3; do
        produce "$producer" | psql -v ON_ERROR_STOP=1 -qAtX >/dev/null \
            2>>"$server_dir/$mode-producer.log" &
        eval "producer_$producer=$!"
    done
    dropped=$(for i in $(seq "$rounds"); do
        echo "CALL mailroom_partition(); SELECT mailroom_forget_tokens('0');"
    done | psql -v ON_ERROR_STOP=1 -qAtX |
        awk -v rounds="$rounds" '{ n += $1 } END { print n + 0; exit NR != rounds }') ||
        failed "$mode: a round"
    for producer in 1 2 3; do
        eval "wait \$producer_$producer" || failed "$mode: producer $producer"
    done
    drained
    made=$(sql "SELECT count(*) FROM made")
    same "$mode: tokens made" "$((100 + 3 * rounds * 22))" "$made"
    same "$mode: delivered" "$made $made" "$(delivered "$mode-1")"
    dropped=$((dropped + $(sql "SELECT mailroom_forget_tokens('0')")))
    [ "$dropped" -ge 2 ] || failed "$mode: only $dropped partitions were dropped"
    ends "$mode-1" TERM 0
}

# While nobody collects, a partition with waiting tokens stays, and so do the younger ones.
waiting_tokens_stay()
{
    sql "CALL mailroom_partition(); SELECT mailroom_forget_tokens('0')" >/dev/null
    add_ok 201 210
    sql "CALL mailroom_partition()"
    add_ok 211 220
    sql "CALL mailroom_partition()"
    same "$mode: dropped while tokens wait" 0 "$(sql "SELECT mailroom_forget_tokens('0')")"
    collect "$mode-2"
    until_true "SELECT $waiting_tokens = 0"
    same "$mode: delivered" "20 20" "$(delivered "$mode-2")"
    ends "$mode-2" TERM 0
    same "$mode: dropped when they are younger" 0 "$(sql "SELECT mailroom_forget_tokens('1 hour')")"
    same "$mode: dropped afterwards" 2 "$(sql "SELECT mailroom_forget_tokens('0')")"
}

# A read in the cursor's order uses the indexes of the partitions and no sort, and a look-up by id
# reads one partition only.
a_batch_looks_at_indexes_only()
{
    for i in 1 2 3; do
        add_ok "30${i}0" "30${i}9"
        sql "CALL mailroom_partition()"
    done
    sql "ANALYZE tokens"
    plan=$(sql "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT * FROM tokens WHERE action = 'activation'
        AND (xid, id) > ('5', 0) ORDER BY xid, id LIMIT 10")
    case $plan in
    *'>  Sort'*|*'Seq Scan'*) failed "$mode: the cursor's read is not in the index's order: $plan" ;;
    *"Merge Append"*) ;;
    *) failed "$mode: another plan than expected: $plan" ;;
    esac
    plan=$(sql "SET enable_seqscan = off; SET enable_bitmapscan = off;
        EXPLAIN (COSTS OFF, ANALYZE, TIMING OFF)
        SELECT its.* FROM unnest(ARRAY[$(sql "SELECT max(id) FROM tokens")]) AS taken (id),
            LATERAL (SELECT * FROM tokens AS t WHERE t.id = taken.id OFFSET 0) AS its")
    same "$mode: partitions that an id is looked up in" 1 \
        "$(echo "$plan" | grep 'Scan using' | grep -vc 'never executed')"
}

an_obstacle_is_named()
{
    export PGDATABASE=postgres
    sql "CREATE DATABASE hung"
    export PGDATABASE=hung
    migrate
    sql "CREATE TABLE mine (token bigint REFERENCES tokens)"
    said=$(psql -qX -c "CALL mailroom_partition()" 2>&1 || true)
    case $said in
    *"the foreign key mine_token_fkey of mine"*) ;;
    *) failed "a foreign key: $said" ;;
    esac
    sql "DROP TABLE mine"
}

# While a drop waits for a long transaction, inserts get through.
inserts_do_not_wait_for_a_drop()
{
    sql "CALL mailroom_partition()"
    add_ok 1 10
    sql "CALL mailroom_partition(); UPDATE cursors SET n = n + 1, seen = pg_current_snapshot(),
        tick = pg_current_snapshot(); UPDATE jobs SET mode = 'cursor'"
    mkfifo "$server_dir/reader"
    psql -qAtX <"$server_dir/reader" >/dev/null 2>&1 &
    exec 3>"$server_dir/reader"
    echo "BEGIN; SELECT count(*) FROM tokens;" >&3
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    { leave_server_session; sql "SELECT mailroom_forget_tokens('0')" >"$server_dir/forgot"; } &
    forgetting=$!
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT mailroom_forget%'"
    for i in 1 2 3 4 5; do add_ok "4$i" "4$i"; done
    echo "COMMIT;" >&3
    exec 3>&-
    wait "$forgetting" || failed "forgetting"
    same "dropped when the reader is gone" 1 "$(cat "$server_dir/forgot")"
}

the_bell_and_a_restore_know_all_partitions()
{
    sql "SELECT mailroom_announce('bell')"
    add_ok 451 455
    sql "CALL mailroom_partition()"
    same "partitions without the bell" 0 "$(sql "SELECT count(*) FROM pg_trigger
        WHERE tgrelid IN (SELECT part FROM mailroom_token_partitions())
          AND (tgname = 'token_rings') <> (tgenabled = 'O') AND tgname LIKE 'token\_%s'
          AND tgname <> 'token_consumed'")"
    add_ok 456 460
    sql "DELETE FROM deliveries; UPDATE cursors SET n = n + 1, seen = pg_current_snapshot(),
        tick = pg_current_snapshot(), xid = '0', id = 0, written = '3'"
    add_ok 461 465
    same "tokens since the restore" 5 "$(sql "SELECT mailroom_settle('mailroom', 'cursor')")"
}

one_table_again()
{
    was=$(sql "SELECT count(*), min(id), max(id) FROM tokens")
    sql "SELECT mailroom_unpartition()"
    same "tokens of one table" "$was" "$(sql "SELECT count(*), min(id), max(id) FROM tokens")"
    sql "CALL mailroom_partition()"
    add_ok 501 501
    same "and partitions again" "$((${was%%|*} + 1))" "$(sql "SELECT count(*) FROM tokens")"
}

main
