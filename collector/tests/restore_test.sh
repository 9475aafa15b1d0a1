#!/bin/sh
# A dump restored into another cluster: what waited is delivered in its order, and nothing
# that was delivered is delivered again, whether the new cluster's transaction
# numbers are lower or higher than those in the dump.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server
    migrate
    fill
    dump=$(mktemp /var/tmp/mailproof-dump.XXXXXX)
    # An initial cluster begins near 730; the first one has gone far beyond.
    spend_numbers 3000
    add_accounts 31 40
    pg_dump >"$dump"
    at_exit "rm -f $dump"

    same "delivered before the dump" 20 "$(tokens a)"
    for numbers in lower higher; do
        another_cluster
        if [ "$numbers" = higher ]; then spend_numbers 9000; fi
        psql -v ON_ERROR_STOP=1 -qX -f "$dump" >/dev/null 2>"$server_dir/restore.log" ||
            failed "the restore"
        # One more token comes before the collector starts, and one while it works.
        add_accounts 41 41
        run b
        has_logged b "the database came from another cluster"
        has_logged b "a new cursor; 21 tokens wait"
        add_accounts 42 42
        drained
        ends b TERM 0
        same "delivered with $numbers numbers" 22 "$(tokens b)"
        same "and these are those that waited" "u21@x u42@x" \
            "$(emails b | sort | sed -n '1p;$p' | tr '\n' ' ' | sed 's/ $//')"
        run c
        has_logged c collecting
        ends c TERM 0
        same "again after the next start" 0 "$(tokens c)"
        if grep -q 'a new cursor' "$server_dir/c.log"; then failed "it made a new cursor twice"; fi
    done
    the_order_outlives_a_death
    echo "restored dumps lose nothing"
}

# d has taken the first tokens of those that waited, and is killed before it can write them: its
# reader takes nothing.
the_order_outlives_a_death()
{
    add_accounts 51 75
    sql "UPDATE cursors SET written = '3'"
    mkfifo "$server_dir/full"
    exec 5<>"$server_dir/full"
    dd if=/dev/zero of="$server_dir/full" bs=4096 count=16 2>/dev/null
    : >"$server_dir/d.log"
    "$BUILD_DIR/bin/mailroom-collector" >"$server_dir/full" 2>"$server_dir/d.log" &
    pid_d=$!
    at_exit "kill -KILL $pid_d 2>/dev/null"
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner > 0"
    ends d KILL 137
    exec 5>&-
    run e
    drained
    ends e TERM 0
    same "tokens in their order" "$(seq -f 'u%g@x' 51 75)" "$(emails e)"
}

fill()
{
    add_accounts 1 20
    run a
    has_logged a collecting
    drained
    ends a TERM 0
    spend_numbers 500
    add_accounts 21 30
}

spend_numbers() # how many transactions
{
    sql "DO \$\$ BEGIN FOR i IN 1..$1 LOOP
            PERFORM pg_current_xact_id(); COMMIT;
        END LOOP; END \$\$"
}

# The old server goes, and a fresh one takes its place.
another_cluster()
{
    kill -QUIT "$server_pid"
    wait "$server_pid" 2>/dev/null || true
    rm -rf "$server_dir/data"
    (exec_as_server_user "$server_bindir/initdb" --pgdata="$server_dir/data" \
        --username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync) \
        >"$server_dir/initdb.log" 2>&1
    resume_server
    sql "CREATE ROLE mailroom_collector; CREATE ROLE mailroom_owner; CREATE ROLE collector LOGIN IN ROLE mailroom_collector"
}

emails() # name
{
    awk -F, '{ for (i = 2; i <= NF; i += 5) print $i }' "$server_dir/$1.out"
}

tokens() # name
{
    emails "$1" | wc -l
}

main
