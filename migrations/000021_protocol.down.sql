BEGIN;

DROP TRIGGER tokens_truncated ON tokens;
DROP FUNCTION tokens_truncated();
DROP FUNCTION mailroom_protocol(), mailroom_read(text, bigint, int, text),
    mailroom_take(text, bigint, bigint, int, int, int, bool, bigint[], bigint, float8, float8, bigint, bool, int),
    mailroom_settle_lines(text, bigint, bigint[], bigint[], text,
    bigint[], bigint[], text[], text, bigint[], int[], text[], text[], bigint[], bool[], bigint[]),
    mailroom_peers(text, bigint, text, text, bigint, bool, text, bigint, bool, bigint[], bigint[], bool[], text,
    text, text, text, bigint), mailroom_release(job_type, bigint, text, text),
    mailroom_locks(), mailroom_walk(job_type, int, int, bigint),
    mailroom_behind(token_action[], pg_snapshot, pg_snapshot, xid8, bigint, pg_snapshot, bigint),
    mailroom_ended(pg_snapshot, pg_snapshot),
    mailroom_now(), mailroom_refuse(text),
    mailroom_unsendable(token_action, varchar, varchar, bytea, varchar), mailroom_suspect(text, text),
    mailroom_place(mailroom_token[], bigint),
    mailroom_examine(job_type, int, int, int, mailroom_token[]);
DROP TYPE mailroom_token;

COMMIT;
