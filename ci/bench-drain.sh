# shellcheck shell=bash
# Times collectors that drain what waits. Sourced after collector/tests/test_lib.sh, with $collector
# and $bare_loop set.

# Prints a percentile of the numbers that it reads, one in a line.
percentile() { # which one: 50 is the median
    sort -n | awk -v p="$1" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.5); print v[i ? i : 1] }'
}

median() { percentile 50; }

# Prints the median of one column of a file that has a line for each round.
column() { # number, file
    cut -d' ' -f"$1" "$2" | median
}

# Prints the medians of the first columns in one line.
medians() { # how many, file
    local i
    for ((i = 1; i <= $1; i++)); do column "$i" "$2"; done | tr '\n' ' '
}

divide() { awk -v a="$1" -v b="$2" -v digits="${3:-2}" 'BEGIN { printf "%.*f", digits, a / b }'; }

fresh_database() { # name
    export PGDATABASE=postgres
    sql "CREATE DATABASE $1"
    export PGDATABASE=$1
    migrate
}

# Makes the queue's cursor before anything waits, because tokens that wait at that moment would
# become left-over deliveries.
use_mode() { # mode
    MAILROOM_DEQUEUE=$1 MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" \
        "$collector" --switch-mode 2>>"$server_dir/bench.log"
}

# Prints what else a statement sets that moves a cursor by hand. Without it the collector would take
# the cursor for a restored one. An earlier commit's migrations may have no such column.
written() {
    sql "SELECT ', written = pg_current_xact_id()' FROM pg_attribute
         WHERE attrelid = 'cursors'::regclass AND attname = 'written'"
}

# Makes every token wait again that the snapshot $begin does not show.
rewind() { rewind_ours; }

rewind_ours() {
    sql "UPDATE jobs SET holder = NULL; DELETE FROM deliveries; DELETE FROM owners;
         UPDATE cursors SET n = n + 1, seen = '$begin', tick = '$begin', xid = '0', id = 0 $(written)"
    sql "VACUUM ANALYZE tokens, jobs, cursors, deliveries, owners"
    sql "CHECKPOINT"
}

# Drains with this many collectors. Prints when the first byte came and when each mark was reached,
# in ns since the start. A mark is a number of tokens.
drained() { # collectors, limit, marks...
    rewind
    drained_now "$@"
}

drained_now() {
    local from i limit=$2 n=$1
    shift 2
    from=$(date +%s%N)
    # The counter ends at the last token. Then the collectors have no reader and end, too.
    {
        for ((i = 0; i < n; i++)); do
            MAILROOM_BATCH_LIMIT=$limit MAILROOM_BATCH_TIMEOUT=0 "$collector" 2>>"$server_dir/bench.log" &
        done
        wait
        times >"$server_dir/times"
    } | "$bare_loop" count "$@" >"$server_dir/counted" || true
    awk -v from="$from" '{ printf "%s%.0f", (NR > 1 ? " " : ""), $1 - from } END { print "" }' \
        "$server_dir/counted"
}

# Drains in leased mode, with each token answered at once. Prints when the first token was leased
# and when the last was recorded, in ns since the first lease, so the first number is 0.
leased_now() { # limit, tokens
    local pid
    sql "TRUNCATE attempts; DELETE FROM runs"
    MAILROOM_BATCH_LIMIT=$1 MAILROOM_BATCH_TIMEOUT=0 "$collector" -- "$bare_loop" answer \
        2>>"$server_dir/bench.log" &
    pid=$!
    until_true "SELECT count(*) >= $2 FROM attempts"
    kill "$pid"
    wait "$pid" || true
    sql "SELECT 0, round(extract(epoch FROM max(ended) - min(leased)) * 1000000000) FROM attempts" | tr '|' ' '
}

# Prints how many pages of this database its sessions have read, including those in memory. This
# does not depend on what else the machine does. Before 15 the server counts with a delay.
blocks() {
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE datname = current_database() AND state <> 'idle in transaction'"
    sql "SELECT pg_sleep(0.6)" >/dev/null
    sql "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
}

# Prints the processor time, in ms, of the server's sessions that have ended.
server_cpu() {
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
    sed 's/.*) //' "/proc/$server_pid/stat" |
        awk -v hz="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($14 + $15) * 1000 / hz }'
}

# Prints the processor time of the collectors of the last drain.
collectors_cpu() {
    awk 'NR == 2 { gsub(/s/, ""); split($1, user, "m"); split($2, sys, "m")
        printf "%.0f\n", (user[1] * 60 + user[2] + sys[1] * 60 + sys[2]) * 1000 }' "$server_dir/times"
}

# Makes a queue that is drained again and again, in a database of its own.
prepare_drain() { # mode, tokens
    fresh_database "drain_$1"
    use_mode "$1"
    begin=$(sql "SELECT pg_current_snapshot()")
    add_accounts 1 "$2"
    sql "UPDATE tokens SET expires_at = expires_at + 86400"
}

# Drains that queue in batches of 10, and prints the cost of one batch: ns, and pages.
batch_cost() { # mode, tokens
    local before after begun ended rest
    rewind
    before=$(blocks)
    if [ "$1" = leased ]; then
        read -r begun ended <<<"$(MAILROOM_DEQUEUE=$1 leased_now 10 "$2")"
    else
        read -r rest begun ended <<<"$(MAILROOM_DEQUEUE=$1 drained_now 1 10 10 "$2")"
    fi
    after=$(blocks)
    awk -v ns=$((ended - begun)) -v pages=$((after - before)) -v batches=$(($2 / 10)) \
        'BEGIN { printf "%.0f %.1f\n", ns / batches, pages / batches }'
}

# Opens a psql that keeps a snapshot until fd 8 is closed.
hold_snapshot() {
    rm -f "$server_dir/report"
    mkfifo "$server_dir/report"
    psql -qAtX <"$server_dir/report" >/dev/null &
    exec 8>"$server_dir/report"
    echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM jobs;" >&8
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL"
}

# Leaves behind as many row versions of the cursor and of deliveries as this many batches do. The
# planner gets the collector's settings, because otherwise it would scan all of these versions.
simulate_moves() { # mode, moves
    PGOPTIONS="-c enable_seqscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan" sql "
         DO \$\$ DECLARE taken bigint; BEGIN FOR i IN 1..$2 LOOP
             UPDATE cursors SET n = n + 1 $(written)
             WHERE queue = 'mailroom' AND lane = 1
               AND n = (SELECT max(n) FROM cursors WHERE queue = 'mailroom' AND lane = 1);
             IF '$1' <> 'cursor' THEN
                 INSERT INTO deliveries (queue, owner, tokens)
                 VALUES ('mailroom', 1, '{1,2,3,4,5,6,7,8,9,10}') RETURNING n INTO taken;
                 COMMIT;
                 DELETE FROM deliveries WHERE queue = 'mailroom' AND owner = 1 AND n = taken;
             END IF;
             COMMIT;
         END LOOP; END \$\$"
}
