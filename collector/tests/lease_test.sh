#!/bin/sh
# Every token ends as sent, dead or expired, whatever the sender does, and whichever
# process dies.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

export MAILROOM_DEQUEUE=leased MAILROOM_RETRY_BASE=1 MAILROOM_RETRY_MAX=20 MAILROOM_ATTEMPTS=3
export MAILROOM_ANSWER_TIMEOUT=60000 MAILROOM_GRACE=200

main()
{
    start_server
    migrate
    a_role_without_rights_is_told_what_gives_them
    a_silent_host_is_tried_last
    every_answer_has_its_outcome
    odd_answers_are_a_line_of_the_log
    a_network_slower_than_the_grace_is_no_obstacle
    a_line_without_an_answer_is_tried_again
    a_sender_that_dies_is_started_again
    a_sender_that_dies_within_a_line
    a_collector_that_dies_leaves_its_lines
    a_collector_that_hangs_loses_its_lines
    idle_collectors_stay_known
    a_late_answer_changes_nothing
    a_late_answer_beside_its_timeout_changes_nothing
    an_answer_to_a_freed_line_is_late
    a_late_answer_is_for_what_was_given_up
    term_gives_back_what_is_unanswered
    term_may_come_within_a_line
    an_answer_that_is_not_recorded_is_not_confirmed
    a_sender_that_never_pauses_holds_nothing_up
    what_others_give_back_is_taken_at_once
    somebody_must_answer
    an_ineligible_token_is_not_retried
    a_dead_letter_can_be_tried_and_buried
    the_budget_holds
    the_rest_of_a_row_follows
    recoveries_go_first
    old_history_is_dropped
    a_server_that_lies_is_refused
    a_bell_wakes_it
    echo "every token had an outcome"
}

run_with_sender() # name
{
    run "$1" -- "$SOURCE_DIR/collector/tests/test_sender.sh" "$server_dir/got"
    has_logged "$1" 'in leased mode'
}

add() # login…
{
    for add_login in "$@"; do
        echo "('$add_login@x', '$add_login')"
    done | paste -sd, | {
        read -r add_rows
        sql "INSERT INTO accounts (email, login) VALUES $add_rows"
    }
}

a_role_without_rights_is_told_what_gives_them()
{
    sql "REVOKE mailroom_collector FROM collector"
    run z -- "$SOURCE_DIR/collector/tests/test_sender.sh" "$server_dir/got"
    has_logged z 'GRANT mailroom_collector TO "collector"'
    sql "GRANT mailroom_collector TO collector"
    has_logged z 'in leased mode'
    ends z TERM 0
}

# libpq would begin each attempt with the silent host, and never reach the other.
a_silent_host_is_tried_last()
{
    start_silent_host
    MAILROOM_DATABASE_URL="host=$silent,$PGHOST user=collector dbname=$PGDATABASE" run_with_sender aa
    same "attempts that met silence" 1 "$(grep -c "did not answer in time" "$server_dir/aa.log")"
    ends aa TERM 0
    kill "$silent_pid"
}

# Prints the outcomes of a login's attempts, oldest first.
life() # login
{
    sql "SELECT string_agg(outcome, ' ' ORDER BY number, ended)
         FROM attempts JOIN tokens ON tokens.id = token JOIN accounts AS a ON a.id = account
         WHERE login = '$1'"
}

# Checks that every token was taken and has an outcome.
nothing_is_left()
{
    until_true "SELECT NOT EXISTS (SELECT FROM deliveries)
        AND NOT EXISTS (SELECT FROM mailroom_untaken('mailroom'))"
}

# Whoever owns the functions decides what they answer. Numbers that mean nothing are refused.
a_server_that_lies_is_refused()
{
    sql "ALTER FUNCTION mailroom_take RENAME TO honest_take"
    for lie in 'number := -1' 'errors := -2147483648' 'errors := 2147483647' \
        'wait_ms := 9223372036854775807' 'next_due_ms := -9223372036854775808'; do
        sql "DO \$d\$ BEGIN EXECUTE (SELECT format(
             'CREATE OR REPLACE FUNCTION mailroom_take(%s) RETURNS %s LANGUAGE plpgsql SECURITY DEFINER AS
              \$f\$ #variable_conflict use_column
              BEGIN FOR kind, line, nonce, token, number, errors, email, login, secret, code, more, expired,
                        consumed, others, wait_ms, next_due_ms, alone, rest IN
                    SELECT * FROM honest_take(\$1, \$2, \$3, \$4, \$5, \$6, \$7, \$8, \$9, \$10, \$11,
                        \$12, \$13, \$14)
                  LOOP $lie; RETURN NEXT; END LOOP; END \$f\$',
             pg_get_function_arguments(oid), pg_get_function_result(oid))
             FROM pg_proc WHERE proname = 'honest_take'); END \$d\$;
             GRANT EXECUTE ON FUNCTION mailroom_take TO mailroom_collector"
        run liar -- "$SOURCE_DIR/collector/tests/test_sender.sh" "$server_dir/got"
        add "ok_$(echo "$lie" | cksum | cut -d' ' -f1)"
        ends liar none 70
        grep -q "the server's answer makes no sense" "$server_dir/liar.log" || failed "a lie is believed: $lie"
    done
    sql "DROP FUNCTION mailroom_take; ALTER FUNCTION honest_take RENAME TO mailroom_take"
    run_with_sender honest
    nothing_is_left
    ends honest TERM 0
}

every_answer_has_its_outcome()
{
    run_with_sender a
    add ok1 soft1 hard1 once1 ok2
    nothing_is_left
    same "ok1" "sent" "$(life ok1)"
    same "soft1" "transient transient dead" "$(life soft1)"
    same "hard1" "dead" "$(life hard1)"
    same "once1" "transient sent" "$(life once1)"
    same "dead letters" '452 "full", 5\6 ??|550 no such user' \
        "$(sql 'SELECT reason FROM dead_letters ORDER BY token' | paste -sd'|')"
    # A token that the wire cannot carry ends as dead, with the reason.
    sql 'ALTER TABLE accounts DISABLE TRIGGER account_check_sendable'
    add 'a,b' ok3
    nothing_is_left
    same "what the wire cannot carry" "comma in email" \
        "$(sql 'SELECT reason FROM dead_letters ORDER BY id DESC LIMIT 1')"
    same "its neighbour" "sent" "$(life ok3)"
}

odd_answers_are_a_line_of_the_log()
{
    add junk1 twice1
    nothing_is_left
    has_logged a "'what a day' is not an answer"
    has_logged a "was answered before"
    same "junk1" "sent" "$(life junk1)"
    same "twice1" "sent" "$(life twice1)"
    ends a TERM 0
}

# No answer of the database comes within half of this grace.
a_network_slower_than_the_grace_is_no_obstacle()
{
    MAILROOM_GRACE=0 run_with_sender ad
    add grace1
    nothing_is_left
    same "grace1" "sent" "$(life grace1)"
    ends ad TERM 0
}

a_line_without_an_answer_is_tried_again()
{
    MAILROOM_ANSWER_TIMEOUT=200 run_with_sender b
    add mute1 ok4
    nothing_is_left
    same "mute1" "transient transient dead" "$(life mute1)"
    same "ok4" "sent" "$(life ok4)"
    has_logged b "no answer for 200 ms to 1 of 2 tokens"
    ends b TERM 0
}

# A token that kills its sender comes again in a line of its own, so that no other token suffers.
a_sender_that_dies_is_started_again()
{
    run_with_sender c
    add ok5 die1 ok6
    nothing_is_left
    same "ok5" "sent" "$(life ok5)"
    same "die1" "returned returned transient transient dead" "$(life die1)"
    same "ok6's end" "sent" "$(life ok6 | awk '{print $NF}')"
    grep -c '^ok6$' "$server_dir/got" >"$server_dir/count"
    same "how often ok6 was seen" 1 "$(cat "$server_dir/count")"
    ends c TERM 0
}

# Waits until nothing more fits into a pipe.
until_full() # path
{
    lib_deadline=$(($(date +%s) + 60))
    until python3 -c 'import fcntl, os, struct, sys, termios
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
sys.exit(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"1234"))[0] < 65536)' "$1"; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "$1 is never full"
        sleep 0.05
    done
}

# The first sender reads nothing, and is killed when it has a part of a line.
a_sender_that_dies_within_a_line()
{
    # shellcheck disable=SC2016 # the sender expands it
    MAILROOM_BATCH_LIMIT=1000 run ae -- sh -c '[ ! -e "$0" ] || exec "$1" "$2"; echo $$ >"$0"; exec sleep 1000' \
        "$server_dir/ae.pid" "$SOURCE_DIR/collector/tests/test_sender.sh" "$server_dir/got"
    has_logged ae 'in leased mode'
    add_accounts 1 1000
    until [ -s "$server_dir/ae.pid" ]; do sleep 0.05; done
    until_full "/proc/$(cat "$server_dir/ae.pid")/fd/0"
    kill -KILL "$(cat "$server_dir/ae.pid")"
    has_logged ae "it ended by signal 9; tokens without an answer, to be tried again: 1000"
    nothing_is_left
    ends ae TERM 0
}

# Collector d has a line in flight when it is killed. Collector e frees the line after the grace.
a_collector_that_dies_leaves_its_lines()
{
    run_with_sender d
    add mute2 mute3
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner <> 0"
    sql "UPDATE accounts SET login = 'fine' || id WHERE login LIKE 'mute_'"
    run_with_sender e
    ends d KILL 137
    nothing_is_left
    has_logged e "freed 2 tokens of collector"
    same "lost, then sent" "2|2" "$(sql "SELECT count(*) FILTER (WHERE outcome = 'lost'),
        count(DISTINCT token) FILTER (WHERE number = 2 AND outcome = 'sent')
        FROM attempts WHERE token IN (SELECT token FROM attempts WHERE outcome = 'lost')")"
    same "how its run ended" "its session has ended" \
        "$(sql "SELECT how FROM runs WHERE event = 'ended' ORDER BY at DESC LIMIT 1")"
    ends e TERM 0
}

# Collector f hangs while its session lives, so others wait for the lease and not for the grace.
a_collector_that_hangs_loses_its_lines()
{
    MAILROOM_LEASE=1500 run_with_sender f
    add mute4
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner <> 0"
    MAILROOM_LEASE=1500 run_with_sender g
    sql "UPDATE accounts SET login = 'fine' || id WHERE login LIKE 'mute_'"
    kill -STOP "$(pid_of f)"
    has_logged g "it does not renew its lease"
    nothing_is_left
    kill -CONT "$(pid_of f)"
    has_logged f "another collector took us for dead"
    ends f TERM 0
    ends g TERM 0
}

# Starts a collector whose sender is the test itself: it writes answers to descriptor 8.
run_answered() # name
{
    mkfifo "$server_dir/$1.answers"
    : >"$server_dir/$1.log"
    "$BUILD_DIR/bin/mailroom-collector" <"$server_dir/$1.answers" >"$server_dir/$1.out" \
        2>"$server_dir/$1.log" &
    eval "pid_$1=$!"
    at_exit "kill -KILL $! 2>/dev/null"
    exec 8>"$server_dir/$1.answers"
    has_logged "$1" 'in leased mode'
}

# Neither has a line, so neither renews its lease. Then both work again.
idle_collectors_stay_known()
{
    export MAILROOM_LEASE=1000 MAILROOM_HEALTHCHECK_INTERVAL=3600000
    run_with_sender ia
    run_with_sender ib
    add oki1 # whoever leases it looks at the other from then on
    nothing_is_left
    until_true "SELECT NOT EXISTS (SELECT FROM mailroom_locks() AS l JOIN owners AS o ON o.owner = l.key
        WHERE l.mode = 'ShareLock')" # nobody has anything in hand
    sql "SELECT pg_sleep(3)" >/dev/null
    same "collectors that are known" 2 "$(sql "SELECT count(*) FROM owners WHERE owner <> 0")"
    add oki2 oki3
    nothing_is_left
    for name in ia ib; do
        if grep -q 'freed\|lost' "$server_dir/$name.log"; then failed "$name took the other for dead"; fi
        ends "$name" TERM 0
    done
    unset MAILROOM_LEASE
    export MAILROOM_HEALTHCHECK_INTERVAL=1000
}

# The test frees collector h's line, as another collector would, and answers then.
a_late_answer_changes_nothing()
{
    run_answered h
    add late1
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner <> 0"
    sql "SELECT mailroom_release(queue, owner, 'leased', 'for a test') FROM owners WHERE owner <> 0" >/dev/null
    echo "1 sent" >&8
    has_logged h "1 answer was late"
    same "late1" "late lost" "$(life late1 | awk '{print $1, $2}' | tr ' ' '\n' | sort | paste -sd' ')"
    echo "7 sent" >&8
    has_logged h "which does not exist"
    # The token comes again, in a line that gets no answer.
    lib_deadline=$(($(date +%s) + 60))
    until [ "$(wc -l <"$server_dir/h.out")" = 2 ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "h never wrote the line again"
        sleep 0.05
    done
    ends h TERM 75
    exec 8>&-
    run_with_sender i
    nothing_is_left
    same "late1's end" "sent" "$(life late1 | awk '{print $NF}')"
    ends i TERM 0
}

# One token of the line is answered in time, and the other times out. Then the sender gives the whole
# line up, as mailroom-sender does.
a_late_answer_is_for_what_was_given_up()
{
    MAILROOM_ANSWER_TIMEOUT=1000 run_answered al
    add late5 late6
    until grep -q "@x,late5,.*@x,late6," "$server_dir/al.out"; do sleep 0.05; done
    echo "1.1 sent" >&8
    has_logged al "line 1: no answer"
    echo "1 error transient 454 away" >&8
    has_logged al "line 1 came too late"
    until [ "$(wc -l <"$server_dir/al.out")" = 2 ]; do sleep 0.05; done
    echo "2.1 sent" >&8
    nothing_is_left
    same "late5" "sent" "$(life late5)"
    same "late6" "late sent transient" "$(life late6 | tr ' ' '\n' | sort | paste -sd' ')"
    ends al TERM 0
    exec 8>&-
}

# The second line's timeout and its late answer wait for the record of the first line's answer, and
# go out in one statement.
a_late_answer_beside_its_timeout_changes_nothing()
{
    MAILROOM_ANSWER_TIMEOUT=1000 run_answered ab
    backend=$(sql "SELECT pid FROM pg_stat_activity WHERE usename = 'collector'")
    for login in late2 late3; do
        add $login
        until grep -q "@x,$login," "$server_dir/ab.out"; do sleep 0.05; done
    done
    kill -STOP "$backend"
    echo "1 sent" >&8
    has_logged ab "line 2: no answer"
    echo "2 sent" >&8
    has_logged ab "line 2 came too late"
    kill -CONT "$backend"
    until_true "SELECT count(*) >= 2 FROM attempts
        WHERE number = 1 AND token = (SELECT max(id) FROM tokens)"
    ends ab KILL 137
    exec 8>&-
    run_with_sender ac
    nothing_is_left
    same "late3's first attempt" "late transient" "$(sql "SELECT string_agg(outcome, ' ' ORDER BY outcome)
        FROM attempts WHERE number = 1 AND token = (SELECT max(id) FROM tokens)")"
    ends ac TERM 0
}

# The test frees collector aj's line, as another collector would, and ends its session. The answer
# names a token of the line, as mailroom-sender's answers do.
an_answer_to_a_freed_line_is_late()
{
    run_answered aj
    add late4
    until grep -q "@x,late4," "$server_dir/aj.out"; do sleep 0.05; done
    sql "SELECT mailroom_release(queue, owner, 'leased', 'for a test') FROM owners WHERE owner <> 0" >/dev/null
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'collector'" >/dev/null
    has_logged aj "another collector took us for dead"
    echo "1.1 sent" >&8
    has_logged aj "line 1 came too late"
    until [ "$(wc -l <"$server_dir/aj.out")" = 2 ]; do sleep 0.05; done
    echo "2.1 sent" >&8
    nothing_is_left
    same "late4" "late lost sent" "$(life late4 | tr ' ' '\n' | sort | paste -sd' ')"
    ends aj TERM 0
    exec 8>&-
}

term_gives_back_what_is_unanswered()
{
    run_with_sender j
    add mute5
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner <> 0"
    ends j TERM 75
    # On a slow machine j may have had no time to give the token back; then the next collector does
    # it.
    gone=$(sql "SELECT owner FROM owners WHERE owner <> 0")
    sql "UPDATE accounts SET login = 'fine' || id WHERE login LIKE 'mute_'"
    run_with_sender k
    nothing_is_left
    until_true "SELECT count(*) = 0 FROM owners WHERE owner = ${gone:-1}"
    same "how mute5's first attempt ended" t "$(sql "SELECT outcome IN ('returned', 'lost') FROM attempts
        WHERE token = (SELECT max(id) FROM tokens) AND number = 1")"
    ends k TERM 0
    # However often its collector stops, a token is not mistaken for one that kills its sender.
    add mute7
    for name in u v w; do
        run_with_sender $name
        until_true "SELECT count(*) = 1 FROM deliveries WHERE owner <> 0"
        same "alone" f "$(sql "SELECT alone FROM deliveries")"
        ends $name TERM 75
    done
    sql "UPDATE accounts SET login = 'fine' || id WHERE login LIKE 'mute_'"
    run_with_sender x
    nothing_is_left
    ends x TERM 0
}

# TERM comes while the reader has a part of a line.
term_may_come_within_a_line()
{
    mkfifo "$server_dir/af.fifo" "$server_dir/af.answers"
    exec 5<>"$server_dir/af.fifo" 8<>"$server_dir/af.answers"
    : >"$server_dir/af.log"
    MAILROOM_BATCH_LIMIT=1000 "$BUILD_DIR/bin/mailroom-collector" <"$server_dir/af.answers" \
        >"$server_dir/af.fifo" 2>"$server_dir/af.log" &
    # shellcheck disable=SC2034 # ends reads it
    pid_af=$!
    at_exit "kill -KILL $! 2>/dev/null"
    has_logged af 'in leased mode'
    add_accounts 1001 2000
    until_full "$server_dir/af.fifo"
    ends af TERM 75
    exec 5>&- 8>&-
    run_with_sender ag
    nothing_is_left
    ends ag TERM 0
}

# The server stands still from the answer on, until the collector has ended.
an_answer_that_is_not_recorded_is_not_confirmed()
{
    run_answered ah
    backend=$(sql "SELECT pid FROM pg_stat_activity WHERE usename = 'collector'")
    add unrecorded1
    until grep -q "@x,unrecorded1," "$server_dir/ah.out"; do sleep 0.05; done
    kill -STOP "$backend"
    echo "1 sent" >&8
    ends ah TERM 75
    has_logged ah "no time is left to record what became of 1 token"
    kill -CONT "$backend"
    exec 8>&-
    run_with_sender ai
    nothing_is_left
    ends ai TERM 0
}

# The output of this sender always has something to read.
a_sender_that_never_pauses_holds_nothing_up()
{
    run y -- yes
    has_logged y "'y' is not an answer"
    has_logged y 'in leased mode'
    ends y TERM 0
}

# Nothing else wakes the collector that stays.
what_others_give_back_is_taken_at_once()
{
    run_with_sender s
    add mute6
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner <> 0"
    MAILROOM_HEALTHCHECK_INTERVAL=600000 run_with_sender t
    sql "UPDATE accounts SET login = 'fine' || id WHERE login LIKE 'mute_'"
    ends s TERM 75
    nothing_is_left
    ends t TERM 0
}

somebody_must_answer()
{
    run l </dev/null
    ends l none 78
    has_logged l "before any answer"
    lib_code=0
    MAILROOM_DEQUEUE=cursor "$BUILD_DIR/bin/mailroom-collector" -- true 2>"$server_dir/m.log" ||
        lib_code=$?
    same "a sender in another mode" 78 "$lib_code"
    lib_code=0
    "$BUILD_DIR/bin/mailroom-collector" -- /no/such/sender 2>"$server_dir/m.log" || lib_code=$?
    same "a sender that does not exist" 78 "$lib_code"
    # A sender whose settings do not fit says so at its start, or when it has a mail in hand.
    run p -- sh -c 'echo "SENDER_URL is not set" >&2; exit 78'
    ends p none 78
    has_logged p "its settings do not fit"
    same "starts of the sender" 1 "$(grep -c 'started as process' "$server_dir/p.log")"
    run q -- sh -c 'read -r line; exit 78'
    has_logged q 'in leased mode'
    add ok_given_back
    ends q none 78
    run_with_sender r
    nothing_is_left
    same "what it had in hand" "returned sent" "$(life ok_given_back)"
    ends r TERM 0
}

an_ineligible_token_is_not_retried()
{
    MAILROOM_RETRY_BASE=60000 MAILROOM_RETRY_MAX=60000 run_with_sender n
    add soft2
    until_true "SELECT count(*) = 1 FROM deliveries WHERE owner = 0"
    sql "UPDATE tokens SET expires_at = 1 WHERE id = (SELECT max(id) FROM tokens)"
    sql "UPDATE deliveries SET due = clock_timestamp()"
    add ok7 # wakes the collector
    nothing_is_left
    same "soft2" "transient expired" "$(life soft2)"
    ends n TERM 0
}

a_dead_letter_can_be_tried_and_buried()
{
    token=$(sql "SELECT t.id FROM tokens AS t JOIN accounts AS a ON a.id = account WHERE login = 'hard1'")
    sql "UPDATE accounts SET login = 'fine1' WHERE login = 'hard1'"
    same "a dead letter" "dead" "$(sql "SELECT state FROM mailroom_status WHERE token = $token")"
    same "tried again" t "$(sql "SELECT mailroom_retry($token)")"
    same "its state" retry "$(sql "SELECT state FROM mailroom_status WHERE token = $token")"
    same "not twice" f "$(sql "SELECT mailroom_retry($token)")"
    same "buried" t "$(sql "SELECT mailroom_bury($token, 'a test')")"
    same "not twice" f "$(sql "SELECT mailroom_bury($token, 'a test')")"
    same "its state" dead "$(sql "SELECT state FROM mailroom_status WHERE token = $token")"
    run_with_sender o # is idle, and looks once in a health-check interval
    same "tried again" t "$(sql "SELECT mailroom_retry($token)")"
    nothing_is_left
    same "its end" sent "$(sql "SELECT state FROM mailroom_status WHERE token = $token")"
    same "dead letters of it" 0 "$(sql "SELECT count(*) FROM dead_letters WHERE token = $token")"
    ends o TERM 0
}

# The budget allows 5 at once and then 10 a second, for two collectors together and across a restart
# of both.
the_budget_holds()
{
    export MAILROOM_BUDGET=10/s MAILROOM_BURST=5
    note_spending
    before=$(sql "SELECT max(id) FROM tokens")
    run_with_sender p
    run_with_sender q
    add ok10 ok11 ok12 ok13 ok14 ok15 ok16 ok17 ok18 ok19 ok20 ok21 ok22 ok23 ok24
    until_true "SELECT count(*) >= 8 FROM attempts WHERE token > $before"
    # The code is 75, because the collector had a line without an answer and gave it back.
    ends p TERM '0|75'
    ends q TERM '0|75'
    run_with_sender r
    until_true "SELECT count(*) = 15 FROM attempts WHERE token > $before AND outcome = 'sent'"
    ends r TERM 0
    unset MAILROOM_BUDGET MAILROOM_BURST
    spending_was_within 5 10
}

# s stands still for so long that its payment for a row is too old, and the budget allows only a part
# of the row when it is read again.
the_rest_of_a_row_follows()
{
    export MAILROOM_BUDGET=2/s MAILROOM_BURST=10
    sql "DELETE FROM budgets" # then the bucket is full
    run_with_sender s
    rm -f "$server_dir/hold"
    mkfifo "$server_dir/hold"
    psql -qAtX <"$server_dir/hold" >/dev/null &
    exec 7>"$server_dir/hold"
    echo "BEGIN; SELECT FROM cursors FOR UPDATE;" >&7
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'BEGIN; SELECT FROM cursors%'
        OR query LIKE 'SELECT FROM cursors%'"
    add ok30 ok31 ok32 ok33 ok34 ok35 ok36 ok37 ok38 ok39
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE usename = 'collector' AND wait_event_type = 'Lock'"
    kill -STOP "$(pid_of s)"
    printf '\\q\n' >&7
    exec 7>&-
    until_true "SELECT count(*) = 1 FROM deliveries"
    sleep 3
    kill -CONT "$(pid_of s)"
    nothing_is_left
    ends s TERM 0
    unset MAILROOM_BUDGET MAILROOM_BURST
}

# Ten activations wait, then five recoveries. Making lanes and removing them again neither loses nor
# duplicates a waiting token.
recoveries_go_first()
{
    sql "INSERT INTO accounts (email, login) SELECT 'okl' || n || '@x', 'okl' || n FROM generate_series(1, 10) n;
         INSERT INTO accounts (email, login, status)
         SELECT 'okr' || n || '@x', 'okr' || n, 'active' FROM generate_series(1, 5) n;
         INSERT INTO tokens (action, account, code)
         SELECT 'password_recovery', id, '12345' FROM accounts WHERE login LIKE 'okr%'"
    for bad in activation password_recovery,activation,activation recovery,activation ' '; do
        ! sql "SELECT mailroom_lanes('$bad')" >/dev/null 2>&1 || failed "lanes '$bad' were taken"
    done
    same "lanes before" 1 "$(sql "SELECT mailroom_lanes('password_recovery,activation')")"
    MAILROOM_LANES=activation,password_recovery run a -- true
    ends a none 78
    has_logged a "the queue's lanes are 'password_recovery,activation'"
    : >"$server_dir/got"
    export MAILROOM_BATCH_LIMIT=5 MAILROOM_LANES=password_recovery,activation
    run_with_sender a
    nothing_is_left
    unset MAILROOM_LANES
    same "who came first" "okr okr okr okr okr okl" "$(head -n 6 "$server_dir/got" | sed 's/[0-9]*$//' | paste -sd' ')"
    ! sql "SELECT mailroom_lanes('')" 2>/dev/null || failed "lanes changed beside a collector"
    ends a TERM 0
    add okl11 okl12
    sql "INSERT INTO tokens (action, account, code)
         SELECT 'password_recovery', id, '12345' FROM accounts WHERE login = 'okr1'"
    same "lanes to undo" 2 "$(sql "BEGIN; INSERT INTO accounts (email, login) VALUES ('okl13@x', 'okl13');
        SELECT mailroom_lanes('');
        INSERT INTO accounts (email, login) VALUES ('okl14@x', 'okl14'); COMMIT")"
    run_with_sender a
    nothing_is_left
    until_true "SELECT NOT EXISTS (SELECT FROM mailroom_untaken('mailroom'))"
    nothing_is_left
    same "each came once" "okl1 okl10 okl11 okl12 okl13 okl14 okl2 okl3 okl4 okl5 okl6 okl7 okl8 okl9 okr1 okr1 okr2 okr3 okr4 okr5" \
        "$(LC_ALL=C sort "$server_dir/got" | paste -sd' ')"
    ends a TERM 0
    export MAILROOM_BATCH_LIMIT=10
}

old_history_is_dropped()
{
    sql "CREATE TABLE attempts_20200101 PARTITION OF attempts
         FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00')"
    sql "INSERT INTO attempts (token, number, run, ended, outcome)
         VALUES (1, 1, 1, '2020-01-01 12:00+00', 'sent')"
    kept=$(sql "SELECT count(*) FROM attempts WHERE ended > '2021-01-01'")
    same "days dropped" 1 "$(sql "SELECT mailroom_forget('30 days')")"
    same "attempts kept" "$kept" "$(sql 'SELECT count(*) FROM attempts')"
}

# a is at work when producers begin to ring, and b starts after that.
a_bell_wakes_it()
{
    MAILROOM_HEALTHCHECK_INTERVAL=3600000 run_with_sender a
    sql "SELECT mailroom_announce('bell')"
    for bell_round in 1 2 3; do
        add "okb$bell_round"
        nothing_is_left
    done
    ends a TERM 0
    sql "SELECT mailroom_announce('each')"
}

main
