#!/bin/sh
# A used queue changes its mode only when it is told to, and loses nothing.
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
    the_first_switch_takes_its_time
    the_mode_changes_only_when_told
    echo "all promises of a change of the mode hold"
}

# In a restored dump the first collector records all waiting tokens in deliveries. A trigger
# simulates a large backlog.
the_first_switch_takes_its_time()
{
    add_accounts 9001 9005
    sql "UPDATE cursors SET written = '3'"
    sql "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
         CREATE TRIGGER slow BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION slow()"
    run q
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE usename = 'collector' AND wait_event = 'PgSleep'"
    ends q TERM 0
    end_sessions
    sql "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN
                  IF current_setting(''statement_timeout'') <> ''0'' THEN
                      RAISE query_canceled;
                  END IF;
                  RETURN NEW;
              END'"
    run r
    has_logged r "in shared mode"
    sql "DROP TRIGGER slow ON deliveries; DROP FUNCTION slow()"
    drained
    same "what waited" "5 5" "$(tokens r)"
    ends r TERM 0
}

the_mode_changes_only_when_told()
{
    MAILROOM_DEQUEUE=cursor run i
    ends i none 78
    has_logged i "run mailroom-collector --switch-mode"
    MAILROOM_DEQUEUE=cursor run k --switch-mode
    ends k none 75
    has_logged k "permission denied"
    add_accounts 5001 5005
    run j
    has_logged j "in shared mode"
    as_administrator cursor 75
    has_logged k "a collector is running"
    MAILROOM_QUEUE_NAME=other as_administrator cursor 78
    has_logged k "MAILROOM_QUEUE_NAME is 'other'"
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=template1" run k --switch-mode
    ends k none 78
    has_logged k "lacks what migrations/000001_init.up.sql brings"
    drained
    ends j TERM 0
    same "before the switch" "5 5" "$(tokens j)"

    # During the switch a transaction is open that has its number but has not inserted yet.
    mkfifo "$server_dir/early"
    psql -qAtX <"$server_dir/early" >/dev/null &
    exec 6>"$server_dir/early"
    echo "BEGIN; SELECT pg_current_xact_id();" >&6
    until_true "SELECT count(*) = 1 FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    add_accounts 5006 5010
    as_administrator cursor 0
    has_logged k "5 tokens wait"
    MAILROOM_DEQUEUE=cursor run m
    has_logged m collecting
    drained
    echo "INSERT INTO accounts (email, login) VALUES ('early', 'early'); COMMIT;" >&6
    exec 6>&-
    until_true "SELECT count(*) = 1 FROM accounts WHERE email = 'early'"
    drained
    sql "INSERT INTO attempts (token, number, run, outcome) SELECT max(id), 1, 1, 'dead' FROM tokens;
         SELECT mailroom_retry(max(id)) FROM tokens" >/dev/null
    drained
    ends m TERM 0
    same "after the switch to the cursor, and one by hand" "7 6" "$(tokens m)"

    add_accounts 5011 5015
    as_administrator shared 0
    run o
    add_accounts 5016 5020
    drained
    ends o TERM 0
    same "after the switch back" "10 10" "$(tokens o)"
    # skip-locked is the older name of shared.
    MAILROOM_DEQUEUE=skip-locked run p
    has_logged p "in shared mode"
    ends p TERM 0
}

as_administrator() # mode, exit code
{
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" MAILROOM_DEQUEUE=$1 \
        run k --switch-mode
    ends k none "$2"
}

main
