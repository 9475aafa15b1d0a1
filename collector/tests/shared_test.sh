#!/bin/sh
# Several collectors share a queue.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    start_server
    migrate
    export MAILROOM_DEQUEUE=shared MAILROOM_GRACE=200
    two_share_the_work
    what_cannot_be_sent_is_passed
    what_cannot_be_sent_takes_no_place
    what_is_passed_hides_nothing
    what_is_passed_shortens_no_line
    nothing_is_open_while_the_reader_is_stopped
    a_line_that_sticks_keeps_nothing_from_others
    a_canceled_giving_back_is_sent_again
    a_lost_session_writes_nothing_twice
    a_canceled_move_delays_nothing
    a_canceled_settle_lets_its_lock_go_later
    a_delivery_longer_than_a_line_makes_two
    echo "all promises of sharing hold"
}

two_share_the_work()
{
    run a
    run b
    has_logged a "in shared mode"
    has_logged b "in shared mode"
    at=1
    while [ "$at" -lt 2000 ]; do
        add_accounts "$at" $((at + 19))
        at=$((at + 20))
    done
    drained
    same "tokens, each once" "2000 2000" "$(tokens a b)"
    [ -s "$server_dir/a.out" ] && [ -s "$server_dir/b.out" ] || failed "one of two did all the work"
    same "over the limit" 0 "$(cat "$server_dir/a.out" "$server_dir/b.out" | awk -F, 'NF > 50' | wc -l)"
    ends a TERM 0
    ends b TERM 0
}

what_cannot_be_sent_is_passed()
{
    sql "INSERT INTO accounts (email, login) SELECT 'x' || n, 'x' || n FROM generate_series(1, 3000) n;
         UPDATE tokens SET expires_at = 1 FROM accounts a WHERE a.id = account AND login LIKE 'x%';
         INSERT INTO tokens (action, account, secret) SELECT 'activation', min(id), '\x00' FROM accounts"
    add_accounts 3001 3005
    run e
    drained
    same "the others come out" "5 5" "$(tokens e)"
    same "dead letters" 1 "$(sql "SELECT count(*) FROM dead_letters")"
    # A collector that comes alone waits for nobody.
    sql "INSERT INTO tokens (action, account, secret) SELECT 'activation', min(id), '\x01' FROM accounts"
    drained
    same "dead letters" 2 "$(sql "SELECT count(*) FROM dead_letters")"
    # The log may spread the number over several lines, one a second.
    lib_deadline=$(($(date +%s) + 60))
    until [ "$(passed_over e)" = 3000 ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "$(passed_over e) passed over, not 3000"
        sleep 0.05
    done
    ends e TERM 0
}

# A full batch comes after more rows than a read examines.
what_is_passed_hides_nothing()
{
    add_accounts 7001 7003
    sql "INSERT INTO accounts (email, login) SELECT 'y' || n, 'y' || n FROM generate_series(1, 2500) n;
         UPDATE accounts SET status = 'suspended' WHERE login LIKE 'y%'"
    add_accounts 7004 7010
    MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000 run q
    drained
    same "a full batch" "10 10" "$(tokens q)"
    ends q TERM 0
}

# Eleven tokens in the order of their ids; the second has a code that no line carries.
what_cannot_be_sent_takes_no_place()
{
    export MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000
    run s
    has_logged s "in shared mode"
    sql "BEGIN;
         INSERT INTO accounts (email, login) SELECT 'z' || n || '@x', 'z' || n FROM generate_series(1, 11) n;
         UPDATE tokens SET code = 'x' FROM accounts a WHERE a.id = account AND a.login = 'z2';
         COMMIT"
    drained
    same "tokens that can be sent" "10 10" "$(tokens s)"
    same "lines" 1 "$(wc -l <"$server_dir/s.out")"
    same "dead letters" 3 "$(sql "SELECT count(*) FROM dead_letters")"
    ends s TERM 0
    export MAILROOM_BATCH_TIMEOUT=20 MAILROOM_HEALTHCHECK_INTERVAL=1000
}

# Two in 35 tokens have a code that no line can carry, and three belong to suspended accounts. The
# tokens behind them fill the lines.
what_is_passed_shortens_no_line()
{
    dead=$(sql "SELECT count(*) FROM dead_letters")
    sql "BEGIN;
         INSERT INTO accounts (email, login)
         SELECT 'p' || n || '@x', 'p' || n FROM generate_series(1, 1400) AS n;
         UPDATE tokens SET code = 'x' FROM accounts AS a
         WHERE a.id = account AND a.login LIKE 'p%' AND substr(a.login, 2)::int % 35 IN (1, 2);
         UPDATE accounts SET status = 'suspended'
         WHERE login LIKE 'p%' AND substr(login, 2)::int % 35 IN (3, 17, 34);
         COMMIT"
    MAILROOM_BATCH_TIMEOUT=60000 MAILROOM_HEALTHCHECK_INTERVAL=60000 run q
    drained
    same "tokens, each once" "1200 1200" "$(tokens q)"
    same "fields of a line" 50 "$(awk -F, '{ print NF }' "$server_dir/q.out" | sort -u | paste -sd ' ')"
    same "dead letters" 80 "$(($(sql "SELECT count(*) FROM dead_letters") - dead))"
    ends q TERM 0
}

passed_over() # name
{
    sed -n 's/.*passed over: \([0-9]*\) expired unsent.*/\1/p' "$server_dir/$1.log" |
        awk '{ n += $1 } END { print n + 0 }'
}

nothing_is_open_while_the_reader_is_stopped()
{
    run_unread f
    add_accounts 3006 4000
    until_true "SELECT count(*) > 0 FROM deliveries"
    until_true "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'collector'
        AND (backend_xmin IS NOT NULL OR state <> 'idle')"
    run g
    drained
    ends f TERM "0|75"
    dd if="$server_dir/f.fifo" of="$server_dir/f.out" bs=64k iflag=nonblock 2>/dev/null || true
    exec 5>&-
    drained
    [ "$(tokens f g | cut -d' ' -f2)" = 995 ] || failed "lost: $(tokens f g) of 995"
    ends g TERM 0
}

# The pipe has room for one line of y and a part of the second. y gives back the tokens that it took
# for further lines, and z delivers these. Only the line that was begun stays with y, though it takes
# longer than an answer may take where there are answers.
a_line_that_sticks_keeps_nothing_from_others()
{
    export MAILROOM_BATCH_LIMIT=400 MAILROOM_ANSWER_TIMEOUT=50
    run_unread y
    add_accounts 10001 14000
    until_true "SELECT $waiting_tokens = 3600"
    run z
    until_true "SELECT $waiting_tokens <= 400"
    sleep 0.2
    ! grep "no answer" "$server_dir/y.log" || failed "y waits for answers that nobody gives"
    read_all_of y
    drained
    ends y TERM 0
    ends z TERM 0
    wait "$reader"
    same "tokens, each once" "4000 4000" "$(tokens y z)"
    export MAILROOM_BATCH_LIMIT=10
    unset MAILROOM_ANSWER_TIMEOUT
}

# v cannot write what it took, and the statement that gives it back is cancelled.
a_canceled_giving_back_is_sent_again()
{
    export MAILROOM_BATCH_LIMIT=400
    hold_giving_back
    run_unread v
    add_accounts 14001 18000
    until_true "$one_waits"
    sql "SELECT pg_cancel_backend($(who_waits))" >/dev/null
    has_logged v "trying again"
    let_go
    until_true "SELECT $waiting_tokens = 3600"
    run w
    until_true "SELECT $waiting_tokens <= 400"
    read_all_of v
    drained
    nobody_has_work
    ends v TERM 0
    ends w TERM 0
    wait "$reader"
    same "tokens, each once" "4000 4000" "$(tokens v w)"
    export MAILROOM_BATCH_LIMIT=10
}

nobody_has_work()
{
    until_true "SELECT count(*) = 0 FROM pg_locks
        WHERE locktype = 'advisory' AND mode = 'ShareLock'
          AND classid::bigint << 32 | objid::bigint IN (SELECT owner FROM owners)"
}

a_lost_session_writes_nothing_twice()
{
    run h
    has_logged h "in shared mode"
    at=4001
    while [ "$at" -lt 5000 ]; do
        add_accounts "$at" $((at + 9))
        sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE usename = 'collector'" >/dev/null
        at=$((at + 10))
    done
    drained
    same "tokens, each once" "1000 1000" "$(tokens h)"
    same "lines of another form in the log" "" "$(grep -v '^[0-9/]* [0-9:]* \[' "$server_dir/h.log")"
    ends h TERM 0
}

# The statement that is cancelled confirms a line, and a take travels with it. The take is dropped,
# and made again later.
a_canceled_move_delays_nothing()
{
    hold_confirming
    run r
    has_logged r "in shared mode"
    add_accounts 8001 8050
    until_true "$one_waits"
    sql "SELECT pg_cancel_backend($(who_waits))" >/dev/null
    has_logged r "trying again"
    let_go
    drained
    same "tokens, each once" "50 50" "$(tokens r)"
    same "the next line's first" u8011 "$(sed -n 2p "$server_dir/r.out" | cut -d, -f3)"
    grep -q "of another" "$server_dir/r.log" && failed "r calls its own another's"
    nobody_has_work
    ends r TERM 0
}

# The statement that is cancelled would let go the lock for work in hand.
a_canceled_settle_lets_its_lock_go_later()
{
    hold_confirming
    run t
    has_logged t "in shared mode"
    add_accounts 18001 18005
    until_true "$one_waits"
    sql "SELECT pg_cancel_backend($(who_waits))" >/dev/null
    has_logged t "trying again"
    let_go
    drained
    nobody_has_work
    add_accounts 18006 18010
    drained
    nobody_has_work
    same "tokens, each once" "10 10" "$(tokens t)"
    ends t TERM 0
}

# u8051 to u8055 are written but not confirmed when their session ends. Meanwhile their delivery
# grows.
a_delivery_longer_than_a_line_makes_two()
{
    hold_confirming
    run r
    has_logged r "in shared mode"
    add_accounts 8051 8055
    until_true "$one_waits"
    sql "ALTER ROLE collector CONNECTION LIMIT 0"
    end_sessions
    let_go
    add_accounts 8056 8075
    sql "UPDATE tokens SET xid = '0' FROM accounts a
         WHERE a.id = account AND a.login LIKE 'u80__' AND a.login > 'u8055';
         UPDATE deliveries SET tokens = tokens || (SELECT array_agg(t.id ORDER BY t.id) FROM tokens AS t
             JOIN accounts AS a ON a.id = t.account WHERE a.login LIKE 'u80__' AND a.login > 'u8055')"
    sql "ALTER ROLE collector CONNECTION LIMIT -1"
    drained
    same "tokens, each once" "25 25" "$(tokens r)"
    # The row's first ten tokens are those in doubt, which go into no second line, and five others.
    same "lines, and their fields" "25 25 50 25 " "$(awk -F, '{ printf "%d ", NF }' "$server_dir/r.out")"
    ends r TERM 0
}

main
