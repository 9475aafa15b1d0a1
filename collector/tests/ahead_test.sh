#!/bin/sh
# A collector that works alone reads the next line while one is settled. If the settling takes so
# long that the line behind it becomes too old, that one is read again, and what was being read behind
# it is forgotten: so nothing comes twice, and the order stays.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

# Makes the second read that is behind a line take longer than a line may be old.
slow_down_the_second_read()
{
    sql "CREATE SEQUENCE reads;
         ALTER FUNCTION mailroom_read RENAME TO quick_read;
         CREATE FUNCTION mailroom_read(text, bigint, int, text) RETURNS TABLE (kind int, token bigint, email varchar,
             login varchar, secret bytea, code varchar, part int, xid xid8, passed text, place text)
         LANGUAGE plpgsql SECURITY DEFINER AS \$f\$ BEGIN
             IF \$4 IS NOT NULL AND nextval('reads') = 2 THEN PERFORM pg_sleep(0.5); END IF;
             RETURN QUERY SELECT * FROM quick_read(\$1, \$2, \$3, \$4);
         END \$f\$;
         GRANT EXECUTE ON FUNCTION mailroom_read TO mailroom_collector"
}

main()
{
    start_server
    migrate
    slow_down_the_second_read
    MAILROOM_GRACE=500 MAILROOM_HEALTHCHECK_INTERVAL=60000 run a
    has_logged a collecting
    mkfifo "$server_dir/lock"
    psql -qAtX <"$server_dir/lock" >/dev/null &
    exec 7>"$server_dir/lock"
    echo "BEGIN; SELECT count(*) FROM (SELECT FROM cursors FOR UPDATE) AS c;" >&7
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    add_accounts 1 45
    until_true "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted"
    echo "SELECT pg_sleep(1); COMMIT; \\q" >&7
    exec 7>&-
    drained
    ends a TERM 0
    same "tokens, each once" "45 45" "$(tokens a)"
    [ "$(sql "SELECT last_value FROM reads")" -ge 2 ] || failed "nothing was read behind a line"
    same "their order" "$(seq -f u%.0f 1 45)" "$(tr ',' '\n' <"$server_dir/a.out" | grep '^u[0-9]*$')"
    echo "what was read behind a line that was dropped is forgotten"
}

main
