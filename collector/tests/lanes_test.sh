#!/bin/sh
# Lanes in the modes without answers: recoveries go before activations, which get one line in four
# once they have aged; and whoever dies or hangs, nothing is lost. Leased mode: lease_test.sh.
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
    lanes_choose_no_mode
    use cursor
    lanes_are_made
    other_lanes_are_refused
    recoveries_go_first
    an_aged_lane_gets_its_share
    tokens_that_expired_keep_no_lane_from_ageing
    a_line_of_two_lanes_waits_for_its_timeout
    the_dead_lose_nothing
    the_order_outlives_two_deaths
    a_hanging_one_is_replaced
    one_that_hangs_with_tokens_is_replaced
    one_lane_is_made_of_two
    lanes_are_made
    use shared # the lanes stay
    recoveries_go_first
    the_dead_lose_nothing
    two_share_the_lanes
    a_claim_fences_takes
    echo "lanes hold in each mode"
}

# Lanes are made, undone and made again before the first collector comes.
lanes_choose_no_mode()
{
    activations 3
    for lanes in password_recovery,activation '' password_recovery,activation; do
        sql "SELECT mailroom_lanes('$lanes')" >/dev/null
    done
    recoveries 3
    MAILROOM_DEQUEUE=cursor run a
    drained
    ends a TERM 0
    same "lines" "r3a3" "$(lines a)"
    sql "SELECT mailroom_lanes('')" >/dev/null
}

use() # mode
{
    export MAILROOM_DEQUEUE="$1"
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" run switch --switch-mode
    ends switch none 0
}

activations() # how many
{
    last=$(sql "SELECT count(*) FROM accounts")
    add_accounts $((last + 1)) $((last + $1))
}

both() # activations, recoveries: in one transaction, so that they come at one time
{
    sql "INSERT INTO accounts (email, login)
         SELECT 'b' || n || '@x', 'b' || n
         FROM generate_series((SELECT count(*) FROM accounts) + 1, (SELECT count(*) FROM accounts) + $1) AS n;
         $(recover "$2")"
}

recoveries() # how many
{
    sql "$(recover "$1")"
}

# Prints the statement.
recover() # how many
{
    echo "WITH a AS (INSERT INTO accounts (email, login, status)
             SELECT 'r' || n || '@x', 'r' || n, 'active'
             FROM generate_series((SELECT count(*) FROM accounts) + 1,
                                  (SELECT count(*) FROM accounts) + $1) AS n RETURNING id)
         INSERT INTO tokens (action, account, code) SELECT 'password_recovery', id, '12345' FROM a"
}

# Prints the lines of a collector: a7r3 holds seven activations and then three recoveries.
lines() # name
{
    awk -F, '{ text = ""; n = 0
        for (i = 1; i <= NF; i += 5) {
            if (n && $i != before) { text = text (before == 1 ? "a" : "r") n; n = 0 }
            before = $i; n++
        }
        print text (before == 1 ? "a" : "r") n }' "$server_dir/$1.out" | paste -sd' ' -
}

lanes_are_made()
{
    activations 4
    same "lanes before" 1 "$(sql "SELECT mailroom_lanes('password_recovery,activation')")"
    run b
    drained
    ends b TERM 0
    same "tokens that waited for lanes" "4 4" "$(tokens b)"
}

other_lanes_are_refused()
{
    MAILROOM_LANES=activation,password_recovery run a
    ends a none 78
    has_logged a "the queue's lanes are 'password_recovery,activation'"
    export MAILROOM_LANES=password_recovery,activation
}

# A full line comes from both lanes when the first one does not fill it, and the lower lane's tokens
# come in their order.
recoveries_go_first()
{
    activations 20
    recoveries 13
    run b
    drained
    same "lines" "r10 r3a7 a10 a3" "$(lines b)"
    ! sql "SELECT mailroom_lanes('')" 2>/dev/null || failed "lanes changed beside a collector"
    ends b TERM 0
    same "tokens, each once" "33 33" "$(tokens b)"
    same "activations out of order" "" "$(tr , '\n' <"$server_dir/b.out" |
        sed -n 's/^u\([0-9]*\)$/\1/p' | sort -n -c 2>&1)"
}

an_aged_lane_gets_its_share()
{
    activations 40
    recoveries 75
    MAILROOM_AGEING=86400000 run c
    drained
    ends c TERM 0
    same "lines before the lane has aged" "r10 r10 r10 r10 r10 r10 r10 r5a5 a10 a10 a10 a5" "$(lines c)"
    activations 45
    recoveries 75
    sql "UPDATE tokens SET created_at = created_at - 100 WHERE consumed_at IS NULL"
    # With so short a grace the first lines are too old at once. They are read again, which is no turn.
    MAILROOM_GRACE=1 run d
    drained
    ends d TERM 0
    same "lines with an aged lane" "r10 r10 r10 a10 r10 r10 r10 a10 r10 r5a5 a10 a10" "$(lines d)"
}

# A take of ten looks at 1000 rows at most. One that finds nothing but expired tokens leaves its turn
# to the next.
tokens_that_expired_keep_no_lane_from_ageing()
{
    sql "UPDATE tokens SET consumed_at = 1 WHERE consumed_at IS NULL"
    activations 1500
    sql "UPDATE tokens SET expires_at = 1 WHERE action = 'activation' AND consumed_at IS NULL"
    activations 5
    sql "UPDATE tokens SET created_at = 1 WHERE action = 'activation' AND consumed_at IS NULL"
    recoveries 160
    run e
    drained
    ends e TERM 0
    same "lines behind expired tokens" "r10 r10 r10 a5r5 r10 r10 r10 r10 r10 r10 r10 r10 r10 r10 r10 r10 r5" \
        "$(lines e)"
}

# The collector has written a line and cannot confirm it, and has taken the next one.
the_dead_lose_nothing()
{
    hold_confirming
    run f
    has_logged f QUEUE
    activations 50
    recoveries 45
    until_true "$one_waits"
    ends f KILL 137
    end_sessions
    let_go
    activations 10
    recoveries 10
    run g
    drained
    same "nothing lost, one line twice" "125 115" "$(tokens f g)"
    ends g TERM 0
}

# r has written a line and taken the next one. When it is dead, its statement still waits in the
# server for the right to confirm. t takes over, and is killed with its first line unconfirmed.
the_order_outlives_two_deaths()
{
    hold_confirming
    run r
    has_logged r collecting
    first=$((1 + $(sql "SELECT count(*) FROM accounts")))
    activations 40
    until_true "$one_waits"
    ends r KILL 137
    MAILROOM_LEASE=1000 run t
    has_logged t collecting
    until_true "$one_waits"
    ends t KILL 137
    end_sessions
    let_go
    run v
    drained
    ends v TERM 0
    same "the first line of each" "u$first u$first u$first" \
        "$(for name in r t v; do head -n 1 "$server_dir/$name.out" | cut -d, -f3; done | paste -sd' ' -)"
    same "tokens of the last one, each once" "40 40" "$(tokens v)"
    same "activations out of order" "" "$(tr , '\n' <"$server_dir/v.out" |
        sed -n 's/^u\([0-9]*\)$/\1/p' | sort -n -c 2>&1)"
}

# A collector that was stopped takes nothing when it goes on, if another has claimed the queue.
a_hanging_one_is_replaced()
{
    export MAILROOM_LEASE=1000
    run h
    has_logged h collecting
    kill -STOP "$(pid_of h)"
    run i
    has_logged i 'standing by'
    activations 13
    recoveries 3
    drained
    kill -CONT "$(pid_of h)"
    has_logged h 'standing by'
    recoveries 10
    drained
    same "tokens of the other" "26 26" "$(tokens i)"
    same "tokens of the one that hung" "0 0" "$(tokens h)"
    # The one that hung takes the queue again.
    ends i KILL 137
    activations 10
    drained
    same "its tokens" "10 10" "$(tokens h)"
    ends h TERM 0
    unset MAILROOM_LEASE
}

# w hangs with tokens that it has taken, and nothing is left behind the cursors.
one_that_hangs_with_tokens_is_replaced()
{
    export MAILROOM_LEASE=1000
    hold_confirming
    run w
    has_logged w collecting
    recoveries 10
    until_true "$one_waits"
    kill -STOP "$(pid_of w)"
    sql "SELECT pg_cancel_backend($(who_waits))" >/dev/null
    let_go
    run x
    has_logged x 'standing by'
    drained
    same "tokens of the other" "10 10" "$(tokens x)"
    kill -CONT "$(pid_of w)"
    has_logged w 'standing by'
    ends w TERM "0|75"
    ends x TERM 0
    unset MAILROOM_LEASE
}

# Tokens of both lanes count for a full line, and wait for its timeout together.
a_line_of_two_lanes_waits_for_its_timeout()
{
    MAILROOM_BATCH_TIMEOUT=500 run j
    has_logged j QUEUE
    both 5 4
    drained
    both 4 7
    drained
    ends j TERM 0
    same "lines" "r4a5 r7a3 a1" "$(lines j)"
}

# Making lanes and undoing them while tokens wait neither loses nor doubles one, not even one of the
# same transaction.
one_lane_is_made_of_two()
{
    recoveries 3
    activations 12
    first=$((1 + $(sql "SELECT count(*) FROM accounts")))
    same "lanes before" 2 "$(sql "BEGIN; INSERT INTO accounts (email, login) VALUES ('u$first@x', 'u$first');
        SELECT mailroom_lanes('');
        INSERT INTO accounts (email, login) VALUES ('u$((first + 1))@x', 'u$((first + 1))'); COMMIT")"
    run k
    ends k none 78
    unset MAILROOM_LANES
    run l
    drained
    recoveries 1
    drained
    ends l TERM 0
    same "tokens, each once" "18 18" "$(tokens l)"
}

two_share_the_lanes()
{
    run n
    run o
    has_logged n "in shared mode"
    has_logged o "in shared mode"
    for _ in 1 2 3 4 5 6; do
        activations 40
        recoveries 40
    done
    drained
    same "tokens, each once" "480 480" "$(tokens n o)"
    ends n TERM 0
    ends o TERM 0
}

# A take that was sent before another collector claimed the queue, and arrives after it.
a_claim_fences_takes()
{
    activations 12
    recoveries 2
    take="FROM mailroom_take('mailroom', 42, (SELECT epoch FROM jobs) - %s, 10, 1) WHERE kind > 0"
    # shellcheck disable=SC2059 # the format is ours
    ! sql "SELECT count(*) $(printf "$take" 1)" >"$server_dir/late" 2>&1 || failed "a late take takes"
    grep -q "another collector has the queue" "$server_dir/late" || failed "$(cat "$server_dir/late")"
    # shellcheck disable=SC2059
    same "tokens of a take in time" 10 "$(sql "SELECT count(*) $(printf "$take" 0)")"
    sql "INSERT INTO owners (queue, owner) VALUES ('mailroom', 42)"
    run p
    drained
    ends p TERM 0
    same "tokens, each once" "14 14" "$(tokens p)"
}

main
