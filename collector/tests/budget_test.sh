#!/bin/sh
# The send budget in the modes without answers: the bucket is in the database, so all collectors of
# a queue share it and no restart refills it. Leased mode: lease_test.sh.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server
    migrate
    export MAILROOM_GRACE=200
    for mode in cursor shared; do
        export MAILROOM_DEQUEUE=$mode
        [ "$mode" = cursor ] || switch_mode
        an_idle_one_spends_nothing
        nothing_refills_the_bucket
        what_is_left_over_is_paid_for
        who_waits_for_the_budget_sleeps
        the_budget_holds
    done
    MAILROOM_DEQUEUE=cursor a_holder_without_budget_keeps_the_queue
    the_migration_is_asked_for
    echo "the budget holds in each mode"
}

switch_mode()
{
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" run switch --switch-mode
    ends switch none 0
}

add() # how many
{
    add_accounts "$((1 + $(sql 'SELECT count(*) FROM accounts')))" \
        "$(($1 + $(sql 'SELECT count(*) FROM accounts')))"
}

# Begins with a new bucket, which allows this many tokens, and then none for days.
only() # tokens
{
    sql "DELETE FROM budgets"
    export MAILROOM_BUDGET=0.000001/s MAILROOM_BURST="$1"
}

paid()
{
    sql "SELECT coalesce(sum(today), 0) FROM budgets"
}

an_idle_one_spends_nothing()
{
    only 5
    MAILROOM_HEALTHCHECK_INTERVAL=50 run a
    has_logged a collecting
    # It looks at the queue after each health check.
    looks="SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE relname = 'cursors'"
    before=$(sql "$looks")
    until_true "SELECT ($looks) > $before + 2"
    same "buckets" 0 "$(sql "SELECT count(*) FROM budgets")"
    add 3
    drained
    same "tokens" "3 3" "$(tokens a)"
    same "tokens that were paid for" 3 "$(paid)"
    ends a TERM 0
}

# Of 20 tokens five can be sent. The first line is cut, and nobody else sends more: no second
# collector, and none after a restart or a crash.
nothing_refills_the_bucket()
{
    only 5
    run b
    run c
    has_logged b QUEUE
    has_logged c QUEUE
    add 20
    until_true "SELECT sum(today) = 5 FROM budgets"
    nobody_has_any
    ends b KILL 137
    ends c TERM 0
    run d
    has_logged d "the budget is spent for "
    ends d TERM 0
    same "tokens" "5 5" "$(tokens b c d)"
    same "tokens that were paid for" 5 "$(paid)"
    sql "UPDATE budgets SET left_ = 1000" # more than the burst is never left
    MAILROOM_BURST=15 run e
    drained
    same "all tokens" "20 20" "$(tokens b c d e)"
    ends e TERM 0
}

nobody_has_any()
{
    until_true "SELECT NOT EXISTS (SELECT FROM deliveries WHERE owner <> 0)"
}

# A budget that is spent is logged only when a take gets none of it.
has_sent() # name, tokens
{
    deadline=$(($(date +%s) + 60))
    until [ "$(tokens "$1")" = "$2 $2" ]; do
        [ "$(date +%s)" -le "$deadline" ] || failed "$1 sent $(tokens "$1"), and not $2"
        sleep 0.05
    done
}

# In a restored dump all waiting tokens are written down in deliveries. They are paid for like
# others. Tokens that the budget does not allow stay, and others who share the queue may have them.
what_is_left_over_is_paid_for()
{
    only 15
    add 20
    sql "UPDATE cursors SET written = '3'"
    run f
    has_sent f 15
    same "what waits" 5 "$(sql "SELECT $waiting_tokens")"
    [ "$mode" = cursor ] || nobody_has_any
    ends f TERM 0
    only 5
    run g
    drained
    same "tokens, each once" "20 20" "$(tokens f g)"
    ends g TERM 0
}

# TERM ends it at once.
who_waits_for_the_budget_sleeps()
{
    only 1
    add 12
    MAILROOM_HEALTHCHECK_INTERVAL=86400000 run h
    has_sent h 1
    sleeps h
    add 1 # it is announced, and there is no budget for it either
    ends h TERM 0
    sql "DELETE FROM budgets"
    MAILROOM_BURST=100 run i
    drained
    same "tokens" "13 13" "$(tokens h i)"
    ends i TERM 0
}

# Nothing wakes it for longer than a second.
sleeps() # name
{
    [ -r /proc/self/status ] || return 0
    sleeps_deadline=$(($(date +%s) + 60))
    last=none
    until [ "$last" = "$(switches "$1")" ]; do
        [ "$(date +%s)" -le "$sleeps_deadline" ] || failed "$1 wakes up again and again"
        last=$(switches "$1")
        sql "SELECT pg_sleep(1.2)" >/dev/null
    done
}

switches() # name
{
    awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$(pid_of "$1")/status"
}

# Five at once and then 20 a second, for two collectors and across a restart of both.
the_budget_holds()
{
    sql "DELETE FROM budgets"
    export MAILROOM_BUDGET=20/s MAILROOM_BURST=5
    note_spending
    run k
    run l
    has_logged k QUEUE
    add 30
    until_true "SELECT sum(tokens) >= 12 FROM spent"
    ends k TERM 0
    ends l TERM 0
    MAILROOM_HEALTHCHECK_INTERVAL=86400000 run m
    drained
    sleeps m
    ends m TERM 0
    same "tokens, each once" "30 30" "$(tokens k l m)"
    [ "$(paid)" -ge 30 ] || failed "only $(paid) of 30 tokens were paid for"
    spending_was_within 5 20
}

# A collector that waits for the budget renews its lease, so that no other takes the queue.
a_holder_without_budget_keeps_the_queue()
{
    switch_mode
    only 1
    add 12
    run n
    has_sent n 1
    epoch=$(sql "SELECT epoch FROM jobs")
    renewed=$(sql "SELECT renewed FROM jobs")
    MAILROOM_LEASE=5000 run o
    has_logged o "standing by"
    until_true "SELECT renewed > $renewed + 1 FROM jobs"
    same "epoch" "$epoch" "$(sql "SELECT epoch FROM jobs")"
    ends o TERM 0
    ends n TERM 0
}

the_migration_is_asked_for()
{
    sql "ALTER FUNCTION mailroom_spend RENAME TO elsewhere"
    MAILROOM_DEQUEUE=cursor run p
    # This comes first, because the wait for the end has no bound.
    has_logged p "migrations/000019_outcome.up.sql"
    ends p none 78
    sql "ALTER FUNCTION elsewhere RENAME TO mailroom_spend"
}

main
