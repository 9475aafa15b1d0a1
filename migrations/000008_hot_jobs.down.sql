BEGIN;

CREATE INDEX jobs_last_seq_idx ON jobs (last_seq);

COMMIT;
