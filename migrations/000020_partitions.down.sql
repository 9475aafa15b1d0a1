BEGIN;

DO $$ BEGIN PERFORM mailroom_unpartition(); END $$;

DROP PROCEDURE mailroom_partition();
DROP FUNCTION mailroom_unpartition();
DROP FUNCTION mailroom_forget_tokens(interval);
DROP FUNCTION mailroom_partition_waits(regclass, bigint);
DROP FUNCTION mailroom_partition_next();
DROP FUNCTION mailroom_partition_attach();
DROP FUNCTION mailroom_partition_validate();
DROP FUNCTION mailroom_partition_bound();
DROP FUNCTION mailroom_partition_exchange(regclass, text);
DROP FUNCTION mailroom_partition_hangings();
DROP FUNCTION mailroom_partition_obstacles();
DROP FUNCTION mailroom_token_partitions();
DROP FUNCTION mailroom_partition_schema();
DROP FUNCTION mailroom_is_partitioned();
DROP FUNCTION mailroom_partition_now();
DROP FUNCTION mailroom_partition_width();
DROP FUNCTION mailroom_lock_tables(text, text);

COMMIT;
