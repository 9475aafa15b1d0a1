-- Mends: nobody knew what became of a mail. The collector's duty ended at its
-- pipe, and tokens that the sender lost were lost without a record.
--
-- In the mode `leased` the reader of the lines answers for each token, and every
-- token ends as sent, dead or expired:
--
--   deliveries   what is leased (a row for each line, its owner the collector's
--                run) and what is to be tried again (owner 0, due at a time)
--   attempts     append-only: a row for each attempt that ended, and for each
--                token that expired or died without one; partitioned by day, so
--                that the old days can be dropped
--   runs         append-only: a row when a collector starts and one when it ends
--
-- A line's row keeps its tokens until the last of them is answered. So a mail costs one
-- inserted row, and its line two. An answer counts only while the row is there, has the
-- line's nonce, and its owner is still the answering collector.

BEGIN;

CREATE TABLE attempts (
    token   bigint NOT NULL,
    number  int NOT NULL,          -- 0: it was never leased
    run     bigint NOT NULL,
    leased  timestamptz,
    ended   timestamptz NOT NULL DEFAULT clock_timestamp(),
    outcome text NOT NULL CHECK (outcome IN
        ('sent', 'transient', 'dead', 'expired', 'returned', 'lost', 'late', 'retried')),
    text    text,
    nonce   bigint                 -- of the line
) PARTITION BY RANGE (ended);
CREATE INDEX attempts_token_idx ON attempts (token, number);
-- For a day whose own partition nobody has made yet.
CREATE TABLE attempts_rest PARTITION OF attempts DEFAULT;

CREATE TABLE runs (
    run      bigint NOT NULL,
    event    text NOT NULL CHECK (event IN ('started', 'ended')),
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    queue    job_type NOT NULL,
    host     text,
    version  text,
    settings text,                 -- without secrets
    how      text,                 -- how the collector ended
    tokens   bigint                -- how many tokens got an answer
);
CREATE INDEX runs_at_idx ON runs (at);

-- A token bucket, and the mails of the server's day (UTC). A row comes with the
-- first collector that has a budget.
CREATE TABLE budgets (
    queue   job_type PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    left_   double precision NOT NULL,
    at      timestamptz NOT NULL,
    day     date NOT NULL,
    today   bigint NOT NULL
);

-- Returns how much of `wanted` may be spent now, and spends it. Several collectors wait for each
-- other here. The clock is the server's, is read when the lock is held, and never moves back, so
-- that neither a restart nor a wrong clock refills the bucket.
CREATE FUNCTION mailroom_spend(queue text, wanted int, per_s double precision,
    burst double precision,
    daily bigint, OUT granted int, OUT wait_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    b budgets;
    now_ timestamptz;
BEGIN
    INSERT INTO budgets VALUES (queue::job_type, burst, clock_timestamp(),
        (clock_timestamp() AT TIME ZONE 'UTC')::date, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO b FROM budgets AS s WHERE s.queue = mailroom_spend.queue::job_type FOR UPDATE;
    now_ := greatest(clock_timestamp(), b.at);
    b.left_ := least(burst, b.left_ + extract(epoch FROM now_ - b.at) * per_s);
    IF (now_ AT TIME ZONE 'UTC')::date > b.day THEN
        b.day := (now_ AT TIME ZONE 'UTC')::date;
        b.today := 0;
    END IF;
    granted := greatest(0, least(wanted, floor(b.left_ + 1e-9)::int));
    wait_ms := CASE WHEN granted = 0 THEN ceil((1 - b.left_) / per_s * 1000) ELSE 0 END;
    IF daily > 0 AND b.today + granted > daily THEN
        granted := greatest(0, daily - b.today);
        wait_ms := CASE WHEN granted > 0 THEN 0
            ELSE ceil(1000 * extract(epoch FROM
                (b.day + 1)::timestamp AT TIME ZONE 'UTC' - now_)) END;
    END IF;
    UPDATE budgets AS s SET left_ = b.left_ - granted, at = now_, day = b.day,
        today = b.today + granted WHERE s.queue = b.queue;
END
$$;

-- Executes a statement, with the name of this schema in place of `here`. The functions name every
-- table by its schema, and their search path has pg_catalog alone. So no function, operator or
-- table that another role makes can come in between.
CREATE OR REPLACE PROCEDURE pg_temp.make(statement text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE regexp_replace(statement, '\mhere\.(?=[a-z%])', quote_ident(current_schema()) || '.',
    'g');
END
$$;

-- Makes the partitions of attempts for the next days. They can be attached only while nobody reads
-- attempts_rest, so a dump is not waited for: another call makes what is missing.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_partitions() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    day date;
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(here.mailroom_lock_key('', 'partitions'));
    FOR day IN SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + g
        FROM generate_series(0, 7) AS g LOOP
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN EXISTS (SELECT FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
                              WHERE i.inhparent = 'here.attempts'::regclass AND c.relname = name);
        BEGIN
            EXECUTE format('CREATE TABLE here.%I (LIKE here.attempts INCLUDING ALL)', name);
            EXECUTE format('ALTER TABLE here.attempts ATTACH PARTITION here.%I '
                'FOR VALUES FROM (%L) TO (%L)',
                name, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
        EXCEPTION
            -- this day has begun without it, and stays in attempts_rest
            WHEN check_violation THEN NULL;
            WHEN lock_not_available THEN RETURN;
        END;
    END LOOP;
END
$$
$make$);

-- For administrators: forgets attempts and runs that are older than this. It drops
-- whole days, which costs little, and makes the partitions of the next ones. It does
-- not wait long for a reader, because everybody else would queue behind the drop; then
-- it fails and can be called again. Returns how many days were dropped.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_forget(older interval) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    before timestamptz := clock_timestamp() - older;
    part regclass;
    dropped int := 0;
BEGIN
    IF older < interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the age must not be negative';
    END IF;
    PERFORM here.mailroom_partitions();
    FOR part IN
        SELECT i.inhrelid::regclass FROM pg_inherits AS i
        WHERE i.inhparent = 'here.attempts'::regclass
          AND (substring(i.inhrelid::regclass::text FROM 'attempts_(\d{8})$')::date + 1)::timestamp
              AT TIME ZONE 'UTC' <= before
    LOOP
        EXECUTE format('DROP TABLE %s', part);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM here.attempts_rest WHERE ended < before;
    DELETE FROM here.runs WHERE at < before;
    RETURN dropped;
END
$$
$make$);

-- For administrators: tries a dead or expired token once more, and takes it from
-- the dead letters. It returns false when the token is neither.
CREATE FUNCTION mailroom_retry(token bigint) RETURNS bool
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    t bigint := token;
    last attempts;
BEGIN
    PERFORM pg_advisory_xact_lock(mailroom_lock_key('', 'retry ' || t));
    SELECT * INTO last FROM attempts AS a WHERE a.token = t AND a.outcome <> 'late'
    ORDER BY a.number DESC, a.ended DESC LIMIT 1;
    IF last.outcome IS NULL OR last.outcome NOT IN ('dead', 'expired') THEN
        RETURN false;
    END IF;
    DELETE FROM dead_letters AS d WHERE d.token = t;
    INSERT INTO attempts (token, number, run, outcome, text)
    VALUES (t, last.number, 0, 'retried', 'by hand');
    INSERT INTO deliveries (queue, owner, tokens, numbers, due)
    SELECT job_type, 0, ARRAY[t], ARRAY[last.number + 1], clock_timestamp() FROM jobs LIMIT 1;
    INSERT INTO owners AS o (queue, owner) SELECT job_type, 0 FROM jobs LIMIT 1
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = o.renewed + 1;
    RETURN true;
END
$$;

-- For administrators: takes a token that is waiting to be tried again out of the
-- queue, for good. It returns false when the token is not waiting for that.
CREATE FUNCTION mailroom_bury(token bigint, reason text) RETURNS bool
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    t bigint := token;
    d deliveries;
    at int;
BEGIN
    SELECT * INTO d FROM deliveries AS x WHERE x.owner = 0 AND t = ANY (x.tokens) FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    at := array_position(d.tokens, t);
    INSERT INTO attempts (token, number, run, outcome, text)
    VALUES (t, coalesce(d.numbers[at], 1), 0, 'dead', 'buried by hand: ' || reason);
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT id, account, action, 'buried by hand: ' || reason FROM tokens WHERE id = t;
    IF cardinality(d.tokens) = 1 THEN
        DELETE FROM deliveries AS x WHERE x.n = d.n;
    ELSE
        UPDATE deliveries AS x SET tokens = d.tokens[:at - 1] || d.tokens[at + 1:],
            numbers = d.numbers[:at - 1] || d.numbers[at + 1:],
            errors = d.errors[:at - 1] || d.errors[at + 1:]
        WHERE x.n = d.n;
    END IF;
    RETURN true;
END
$$;

-- Shows what became of each token, as far back as `attempts` goes.
CREATE VIEW mailroom_status AS
WITH held AS (
    SELECT u.t AS token, coalesce(d.numbers[u.at], 1) AS number, d.owner <> 0 AS leased, d.due
    FROM deliveries AS d, unnest(d.tokens) WITH ORDINALITY AS u (t, at)
)
SELECT t.id AS token,
       CASE WHEN h.token IS NOT NULL AND a.number IS DISTINCT FROM h.number
                THEN CASE WHEN h.leased THEN 'leased' WHEN h.number > 1 THEN 'retry'
                    ELSE 'scheduled' END
            WHEN a.outcome IS NULL THEN 'scheduled'
            WHEN a.outcome = 'lost' THEN 'abandoned'
            ELSE a.outcome END AS state,
       coalesce(a.number, 0) AS attempts, a.text AS last_text, a.ended AS last_at, h.due
FROM tokens AS t
LEFT JOIN held AS h ON h.token = t.id
LEFT JOIN LATERAL (SELECT * FROM attempts AS x WHERE x.token = t.id AND x.outcome <> 'late'
                   ORDER BY x.number DESC, x.ended DESC LIMIT 1) AS a ON true;

-- Shows how many tokens are in each state, and since when the oldest unfinished one waits. Finished
-- tokens are those of today. What a collector had in hand when it died is `abandoned`, and is tried
-- again.
CREATE VIEW mailroom_totals AS
SELECT 'scheduled' AS state, count(*) AS tokens, 0::bigint AS attempts,
    to_timestamp(min(t.created_at)) AS oldest
FROM jobs AS j, mailroom_untaken(j.job_type::text) AS u JOIN tokens AS t ON t.id = u.token
UNION ALL
SELECT CASE WHEN d.owner = 0 THEN 'retry'
    ELSE 'leased' END, count(*), sum(coalesce(d.numbers[u.at], 1) - 1), min(d.leased_at)
FROM deliveries AS d, unnest(d.tokens) WITH ORDINALITY AS u (token, at)
GROUP BY 1
UNION ALL
SELECT CASE outcome WHEN 'lost' THEN 'abandoned'
    ELSE outcome END, count(DISTINCT token), count(*), min(ended)
FROM attempts
WHERE ended >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
GROUP BY 1;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY[
        'mailroom_spend(text, int, double precision, double precision, bigint)',
        'mailroom_retry(bigint)', 'mailroom_bury(bigint, text)']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
    END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION mailroom_partitions(), mailroom_forget(interval) FROM public;
GRANT EXECUTE ON FUNCTION mailroom_spend(text, int, double precision, double precision, bigint)
    TO mailroom_collector;
GRANT SELECT ON budgets TO mailroom_collector; -- for the metrics

COMMIT;
