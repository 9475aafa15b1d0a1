-- Switches a queue of skip-locked to the cursor, which takes over what waits.

BEGIN;

DO $$
BEGIN
    PERFORM mailroom_switch_mode(job_type::text, 'cursor') FROM jobs;
END
$$;

DROP FUNCTION mailroom_switch_mode(text, text);
DROP INDEX tokens_waiting_idx;
ALTER TABLE tokens DROP COLUMN processed_at, DROP COLUMN claimed_by;
ALTER TABLE jobs DROP COLUMN mode;

COMMIT;
