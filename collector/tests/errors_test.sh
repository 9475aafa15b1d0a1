#!/bin/sh
# What a failed request or a lost session leaves in hand is dealt with: no token comes twice, no row
# stays with a collector that does nothing with it, and nothing stays in doubt.
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
    a_canceled_read_settles_all_the_same
    nothing_is_in_doubt_that_will_not_come cursor 7001
    export MAILROOM_DEQUEUE=shared
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" run switch --switch-mode
    ends switch none 0
    nothing_is_in_doubt_that_will_not_come shared 7101
    a_settling_does_not_wait_for_a_take_that_fails
    what_is_in_doubt_is_given_to_nobody
    a_stuck_line_keeps_no_rows_of_a_lost_session
    echo "errors leave nothing in hand"
}

# Ends the collector's session, and lets no other begin until may_connect.
cut_off()
{
    sql "ALTER ROLE collector CONNECTION LIMIT 0"
    end_sessions
}

may_connect()
{
    sql "ALTER ROLE collector CONNECTION LIMIT -1"
}

# Behind the read that is cancelled, a line that was read before is settled.
a_canceled_read_settles_all_the_same()
{
    MAILROOM_BATCH_LIMIT=1 run a
    has_logged a collecting
    add_accounts 1 6000
    until_true "SELECT count(*) < 5900 FROM mailroom_untaken('mailroom')"
    begin_holding "LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE"
    until_true "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'accounts'::regclass AND NOT granted"
    sql "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE usename = 'collector' AND wait_event_type = 'Lock'" >/dev/null
    has_logged a "trying again"
    end_holding
    drained
    ends a TERM 0
    same "tokens, each once" "6000 6000" "$(tokens a)"
    grep "another collector" "$server_dir/a.log" && failed "a has lost the queue to itself"
    return 0
}

begin_holding() # statement
{
    rm -f "$server_dir/hold" "$server_dir/holder.log"
    mkfifo "$server_dir/hold"
    psql -qAtX <"$server_dir/hold" >"$server_dir/holder.log" 2>&1 &
    # shellcheck disable=SC2034 # has_logged reads it
    pid_holder=$!
    exec 7>"$server_dir/hold"
    echo "BEGIN; $1; SELECT 'holds';" >&7
    has_logged holder holds
}

end_holding()
{
    printf '\\q\n' >&7
    exec 7>&-
}

# The tokens of the line in doubt are consumed before they can be read again.
nothing_is_in_doubt_that_will_not_come() # mode
{
    run "b_$1"
    has_logged "b_$1" collecting
    if [ "$1" = cursor ]; then
        begin_holding "SELECT FROM cursors FOR UPDATE"
    else
        hold_confirming
    fi
    add_accounts "$2" $(($2 + 4))
    until_true "SELECT count(*) > 0 FROM pg_stat_activity
        WHERE usename = 'collector' AND wait_event_type = 'Lock'"
    cut_off
    if [ "$1" = cursor ]; then end_holding; else let_go; fi
    sql "UPDATE tokens SET consumed_at = 1"
    may_connect
    drained
    ends "b_$1" TERM 0
    same "tokens, each once" "5 5" "$(tokens "b_$1")"
}

# Under a backlog one request settles and takes. Nobody can take while accounts is locked, but what
# is written can be settled. A line that came late is not written, and keeps its row.
a_settling_does_not_wait_for_a_take_that_fails()
{
    run g
    has_logged g "in shared mode"
    sql "INSERT INTO accounts (email, login) SELECT 'u' || n || '@x', 'u' || n
             FROM generate_series(20001, 26000) n;
         CREATE TABLE token_of AS SELECT t.id AS token, a.login FROM tokens AS t, accounts AS a
             WHERE a.id = t.account"
    until_true "SELECT count(*) < 5900 FROM mailroom_untaken('mailroom')"
    begin_holding "LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE"
    until_true "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'accounts'::regclass AND NOT granted"
    sql "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE usename = 'collector' AND wait_event_type = 'Lock'" >/dev/null
    has_logged g "trying again"
    written=$(awk -F, '{ for (i = 3; i <= NF; i += 5) printf "%s\047%s\047", n++ ? ", " : "", $i }' \
        "$server_dir/g.out")
    until_true "SELECT NOT EXISTS (SELECT FROM deliveries WHERE tokens && ARRAY(
        SELECT token FROM token_of WHERE login IN ($written)))"
    end_holding
    drained
    ends g TERM 0
    same "tokens, each once" "6000 6000" "$(tokens g)"
}

# The line of c is in the pipe, which has no room for another, and its tokens are in doubt.
what_is_in_doubt_is_given_to_nobody()
{
    hold_confirming
    run_unread c
    yes xxxxxxx | dd bs=4096 count=15 iflag=fullblock >&5 2>/dev/null
    add_accounts 8001 8010
    until_true "$one_waits"
    cut_off
    let_go
    may_connect
    run d
    has_logged d "in shared mode"
    sleep 1
    read_all_of c
    drained
    ends c TERM 0
    ends d TERM 0
    wait "$reader"
    same "tokens, each once" "10 10" "$(tokens c d)"
}

# The session of e ends while it gives back the rows that the reader does not take.
a_stuck_line_keeps_no_rows_of_a_lost_session()
{
    export MAILROOM_BATCH_LIMIT=400
    hold_giving_back
    run_unread e
    add_accounts 9001 13000
    until_true "$one_waits"
    end_sessions
    let_go
    run f
    until_true "SELECT $waiting_tokens <= 400"
    read_all_of e
    drained
    ends e TERM 0
    ends f TERM 0
    wait "$reader"
    same "tokens, each once" "4000 4000" "$(tokens e f)"
}

main
