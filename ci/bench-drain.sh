# shellcheck shell=bash
# Collectors that drain what waits, with a stopwatch; sourced behind
# collector/test_lib.sh, with $collector and $bare_loop set.

# Prints a percentile of the numbers that it reads, one in a line.
percentile() { # of a hundred
    sort -n | awk -v p="$1" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.5); print v[i ? i : 1] }'
}

median() { percentile 50; }

# The median of one column of a file that has a round in each line.
column() { # number, file
    cut -d' ' -f"$1" "$2" | median
}

divide() { awk -v a="$1" -v b="$2" -v digits="${3:-2}" 'BEGIN { printf "%.*f", digits, a / b }'; }

fresh_database() { # name
    export PGDATABASE=postgres
    sql "CREATE DATABASE $1"
    export PGDATABASE=$1
    migrate
}

# The queue has its cursor before anything waits: what waits then would be left over.
use_mode() { # mode
    MAILROOM_DEQUEUE=$1 MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" \
        "$collector" --switch-mode 2>>"$server_dir/bench.log"
}

# Makes every token wait again that the snapshot $begin does not show.
rewind() { rewind_ours; }

rewind_ours() {
    sql "UPDATE jobs SET holder = NULL; DELETE FROM deliveries; DELETE FROM owners;
         UPDATE cursors SET n = n + 1, seen = '$begin', tick = '$begin', xid = '0', id = 0"
    sql "VACUUM ANALYZE tokens, jobs, cursors, deliveries, owners"
    sql "CHECKPOINT"
}

# Drains with so many collectors; prints the times of the first byte and of each
# of the marks, counted in tokens, in ns since the start.
drained() { # collectors, limit, marks...
    local from i limit=$2 n=$1
    shift 2
    rewind
    from=$(date +%s%N)
    # The counter ends with the last token; so the collectors lose their reader.
    {
        for ((i = 0; i < n; i++)); do
            MAILROOM_BATCH_LIMIT=$limit MAILROOM_BATCH_TIMEOUT=0 "$collector" 2>>"$server_dir/bench.log" &
        done
        wait
    } | "$bare_loop" count "$@" >"$server_dir/counted" || true
    awk -v from="$from" '{ printf "%s%.0f", (NR > 1 ? " " : ""), $1 - from } END { print "" }' \
        "$server_dir/counted"
}
