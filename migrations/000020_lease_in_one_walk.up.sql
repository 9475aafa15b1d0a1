-- Mends: a lease cost more the further the cursor had moved within its tick, because
-- each look walked over all that was already taken of the tick. And each token was
-- judged by a function call, three times.
--
-- The new mailroom_lease walks the stretches between two snapshots as the other modes
-- do (collector/sql/stretch.sql says how), judges on the way and keeps the rows that it
-- has seen for the line. It takes and returns the same as in 000019.

BEGIN;

CREATE TYPE mailroom_leased_token AS (token bigint, number int, errors int, action int,
    account bigint, email text, login text, secret bytea, code text);

CREATE OR REPLACE FUNCTION mailroom_lease(queue text, owner bigint, wanted int, fewest int,
    due_from timestamptz DEFAULT '-infinity', per_s double precision DEFAULT 0,
    burst double precision DEFAULT 1, daily bigint DEFAULT 0,
    aged_turn bool DEFAULT false, ageing_s int DEFAULT 30)
RETURNS TABLE (kind int, line bigint, token bigint, number int, errors int, action int,
    account bigint, email text, login text, secret bytea, code text, wait_ms bigint, due_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    q job_type := queue::job_type;
    me bigint := owner;
    looked timestamptz := clock_timestamp();
    now_s double precision := extract(epoch FROM looked);
    room int := wanted;            -- tokens that the line still takes
    examine int := 4 * wanted + 1000; -- rows that are still looked at for them
    more bool := false;
    line_alone bool := false;
    budget_ms bigint := 0;
    granted int;
    d deliveries;
    used_rows bigint[] := '{}';
    shrunk_row bigint;
    shrunk_by int;
    lane_ smallint;
    c cursors;
    here pg_snapshot;
    last record;
    moved cursors[] := '{}';
    ok mailroom_leased_token[];
    no bigint[];
    no_n int[];
    no_why text[];
    line_ mailroom_leased_token[] := '{}';
    passed_ bigint[] := '{}';
    passed_n int[] := '{}';
    passed_why text[] := '{}';
    new_line bigint;
BEGIN
    IF per_s > 0 THEN
        SELECT s.granted, s.wait_ms INTO granted, budget_ms
        FROM mailroom_spend(queue, wanted, per_s, burst, daily) AS s;
        room := granted;
        fewest := least(fewest, granted);
    END IF;

    -- What is due. SKIP LOCKED: another collector takes those.
    IF room > 0 THEN
        FOR d IN
            SELECT * FROM deliveries AS x
            WHERE x.queue = q AND x.owner = 0 AND x.due >= due_from AND x.due <= looked
            ORDER BY x.due, x.n LIMIT room FOR UPDATE SKIP LOCKED
        LOOP
            CONTINUE WHEN d.alone AND cardinality(line_) + cardinality(passed_) > 0;
            SELECT array_agg((j.t, j.num, j.err, CASE j.action WHEN 'activation' THEN 1 ELSE 2 END,
                              j.account, j.email, j.login, j.secret, j.code)::mailroom_leased_token
                             ORDER BY j.at) FILTER (WHERE j.why IS NULL),
                   array_agg(j.t) FILTER (WHERE j.why IS NOT NULL),
                   array_agg(j.num) FILTER (WHERE j.why IS NOT NULL),
                   array_agg(j.why) FILTER (WHERE j.why IS NOT NULL)
            INTO ok, no, no_n, no_why
            FROM (SELECT u.t, u.at, coalesce(d.numbers[u.at], 1) AS num,
                         coalesce(d.errors[u.at], 0) AS err,
                         tok.action, tok.account, a.email, a.login, tok.secret, tok.code,
                         CASE
                             WHEN tok.id IS NULL THEN 'deleted'
                             WHEN tok.consumed_at IS NOT NULL THEN 'consumed'
                             WHEN tok.expires_at <= now_s THEN 'expired'
                             WHEN tok.action = 'activation' AND a.status = 'provisioned' THEN NULL
                             WHEN tok.action = 'password_recovery' AND a.status = 'active' THEN NULL
                             ELSE 'the account is ' || coalesce(a.status::text, 'gone')
                         END AS why
                  FROM unnest(d.tokens[1:room]) WITH ORDINALITY AS u (t, at)
                  LEFT JOIN tokens AS tok ON tok.id = u.t
                  LEFT JOIN accounts AS a ON a.id = tok.account OFFSET 0) AS j;
            IF room < cardinality(d.tokens) THEN
                shrunk_row := d.n;
                shrunk_by := room;
            ELSE
                used_rows := used_rows || d.n;
            END IF;
            IF ok IS NOT NULL THEN
                line_ := line_ || ok;
                room := room - cardinality(ok);
            END IF;
            IF no IS NOT NULL THEN
                passed_ := passed_ || no;
                passed_n := passed_n || no_n;
                passed_why := passed_why || no_why;
            END IF;
            IF d.alone AND ok IS NOT NULL THEN
                line_alone := true;
                room := 0;
                more := true;
            END IF;
            EXIT WHEN room = 0 OR shrunk_row IS NOT NULL;
        END LOOP;
    END IF;

    -- The tokens that the cursor has next. One statement locks the cursor's row, and later ones
    -- read the tokens: a statement that waits for the lock would read them as they were before.
    FOR lane_ IN
        SELECT lanes.lane FROM (SELECT DISTINCT x.lane FROM cursors AS x WHERE x.queue = q) AS l
        CROSS JOIN LATERAL (
            SELECT * FROM cursors AS x WHERE x.queue = q AND x.lane = l.lane ORDER BY x.n DESC LIMIT 1
        ) AS lanes
        ORDER BY (CASE WHEN aged_turn AND mailroom_aged(lanes, ageing_s) THEN 0 ELSE 1 END), lanes.lane
    LOOP
        EXIT WHEN room <= 0 OR examine <= 0;
        SELECT * INTO c FROM cursors AS x WHERE x.queue = q AND x.lane = lane_
        ORDER BY x.n DESC LIMIT 1 FOR UPDATE;
        now_s := extract(epoch FROM clock_timestamp());
        -- The stretches are those of collector/sql/cursor.sql: part 1 is the rest of
        -- the tick, part 2 what came after it. All of it is lazy: no more is walked
        -- than fills the line. Accounts are looked up row by row: a join might change
        -- the order, and so where the cursor stands.
        WITH stretch AS MATERIALIZED (
            SELECT s.*
            FROM (VALUES (1, c.seen, c.tick, c.xid, c.id),
                         (2, c.tick, pg_current_snapshot(), '0', 0)) AS p (part, a, b, xid, id),
                 LATERAL (
                     SELECT p.part, greatest(x, p.xid) AS from_xid,
                            CASE WHEN x > p.xid THEN -9223372036854775808 ELSE p.id END AS from_id,
                            x AS to_xid, 9223372036854775807 AS to_id
                     FROM pg_snapshot_xip(p.a) AS x
                     WHERE pg_visible_in_snapshot(x, p.b)
                     UNION ALL
                     SELECT p.part, greatest(gap.from_xid, p.xid),
                            CASE WHEN gap.from_xid > p.xid THEN gap.from_id
                                 WHEN gap.from_xid = p.xid THEN greatest(gap.from_id, p.id)
                                 ELSE p.id END,
                            gap.to_xid, -9223372036854775808
                     FROM (SELECT lag(x, 1, pg_snapshot_xmax(p.a)) OVER runs AS from_xid,
                                  lag(9223372036854775807, 1, -9223372036854775808) OVER runs AS from_id,
                                  x AS to_xid
                           FROM (SELECT x FROM pg_snapshot_xip(p.b) AS x
                                 WHERE x >= pg_snapshot_xmax(p.a)
                                 UNION ALL
                                 SELECT pg_snapshot_xmax(p.b)) AS ends (x)
                           WINDOW runs AS (ORDER BY x)) AS gap
                 ) AS s (part, from_xid, from_id, to_xid, to_id)
            WHERE (s.from_xid, s.from_id) < (s.to_xid, s.to_id)
            ORDER BY s.part, s.from_xid
        ), base AS (
            SELECT s.part, t.*
            FROM stretch AS s
            CROSS JOIN LATERAL (
                SELECT *
                FROM ((SELECT *
                       FROM tokens
                       WHERE action = 'activation' AND 'activation' = ANY (c.actions)
                         AND (xid, id) > (s.from_xid, s.from_id) AND (xid, id) < (s.to_xid, s.to_id)
                       ORDER BY xid, id)
                      UNION ALL
                      (SELECT *
                       FROM tokens
                       WHERE action = 'password_recovery' AND 'password_recovery' = ANY (c.actions)
                         AND (xid, id) > (s.from_xid, s.from_id) AND (xid, id) < (s.to_xid, s.to_id)
                       ORDER BY xid, id)) AS merged
                ORDER BY merged.xid, merged.id) AS t
            LIMIT examine
        ), walk AS MATERIALIZED (
            SELECT b.part, b.xid, b.id, b.account, b.action, b.secret, b.code,
                   (b.its).email, (b.its).login,
                   CASE
                       WHEN b.consumed_at IS NOT NULL THEN 'consumed'
                       WHEN b.expires_at <= now_s THEN 'expired'
                       WHEN b.action = 'activation' AND (b.its).status = 'provisioned' THEN NULL
                       WHEN b.action = 'password_recovery' AND (b.its).status = 'active' THEN NULL
                       ELSE 'the account is ' || coalesce((b.its).status::text, 'gone')
                   END AS why,
                   count(*) OVER (ROWS UNBOUNDED PRECEDING) AS examined
            FROM (SELECT base.*, (SELECT a FROM accounts AS a WHERE a.id = base.account) AS its
                  FROM base OFFSET 0) AS b
        ), until AS MATERIALIZED (
            SELECT CASE WHEN count(*) = room THEN max(fit.examined) ELSE examine END AS rows
            FROM (SELECT w.examined FROM walk AS w WHERE w.why IS NULL LIMIT room) AS fit
        ), turn AS MATERIALIZED (
            SELECT * FROM walk LIMIT (SELECT u.rows FROM until AS u)
        ), taken AS (
            SELECT array_agg((t.id, 1, 0, CASE t.action WHEN 'activation' THEN 1 ELSE 2 END,
                              t.account, t.email, t.login, t.secret, t.code)::mailroom_leased_token
                             ORDER BY t.examined) FILTER (WHERE t.why IS NULL) AS ok,
                   array_agg(t.id) FILTER (WHERE t.why IS NOT NULL) AS no,
                   array_agg(t.why) FILTER (WHERE t.why IS NOT NULL) AS why,
                   count(*)::int AS rows
            FROM turn AS t
        )
        SELECT taken.*, w.part, w.xid, w.id, pg_current_snapshot() AS now
        INTO last
        FROM taken
        LEFT JOIN turn AS w ON w.examined = taken.rows;
        -- A lane of which nothing was read stays where it is.
        CONTINUE WHEN last.rows = 0;
        IF coalesce(cardinality(last.ok), 0) < room AND last.rows < examine THEN
            -- All that there was: seen is what this statement saw.
            c.seen := last.now;
            c.tick := last.now;
        ELSIF last.part = 2 THEN
            c.seen := c.tick;
            c.tick := last.now;
        END IF;
        c.xid := last.xid;
        c.id := last.id;
        moved := moved || c;
        IF last.ok IS NOT NULL THEN
            line_ := line_ || last.ok;
            room := room - cardinality(last.ok);
        END IF;
        IF last.no IS NOT NULL THEN
            passed_ := passed_ || last.no;
            passed_n := passed_n || array_fill(0, ARRAY[cardinality(last.no)]);
            passed_why := passed_why || last.why;
        END IF;
        examine := examine - last.rows;
    END LOOP;
    more := more OR room = 0 OR examine <= 0;

    IF per_s > 0 AND granted > cardinality(line_) THEN
        PERFORM mailroom_unspend(queue, granted - cardinality(line_));
    END IF;
    kind := 0;
    number := cardinality(line_);
    errors := more::int;
    wait_ms := budget_ms;
    -- With too few tokens for a line nothing is taken. With none, the cursor still moves past the
    -- tokens that were passed over, so that the next look begins behind them.
    IF number < fewest AND number > 0 AND NOT line_alone THEN
        due_ms := (SELECT greatest(0, ceil(extract(epoch FROM x.due - clock_timestamp()) * 1000))
                   FROM deliveries AS x WHERE x.queue = q AND x.owner = 0 AND x.due > looked
                   ORDER BY x.due LIMIT 1);
        RETURN NEXT;
        RETURN;
    END IF;
    UPDATE cursors AS x SET n = x.n + 1, seen = m.seen, tick = m.tick, xid = m.xid, id = m.id
    FROM unnest(moved) AS m WHERE x.queue = q AND x.lane = m.lane AND x.n = m.n;
    IF cardinality(used_rows) > 0 THEN
        DELETE FROM deliveries AS x WHERE x.n = ANY (used_rows);
    END IF;
    IF shrunk_row IS NOT NULL THEN
        UPDATE deliveries AS x SET tokens = x.tokens[shrunk_by + 1:],
            numbers = x.numbers[shrunk_by + 1:], errors = x.errors[shrunk_by + 1:]
        WHERE x.n = shrunk_row;
    END IF;
    IF cardinality(passed_) > 0 THEN
        INSERT INTO attempts (token, number, run, outcome, text)
        SELECT p.t, p.num, me, 'expired', p.why
        FROM unnest(passed_, passed_n, passed_why) AS p (t, num, why);
    END IF;
    due_ms := (SELECT greatest(0, ceil(extract(epoch FROM x.due - clock_timestamp()) * 1000))
               FROM deliveries AS x WHERE x.queue = q AND x.owner = 0 AND x.due > looked
               ORDER BY x.due LIMIT 1);
    RETURN NEXT;
    IF number = 0 THEN
        RETURN;
    END IF;
    INSERT INTO deliveries (queue, owner, tokens, numbers, errors, alone)
    SELECT q, me, array_agg(l.token), array_agg(l.number), array_agg(l.errors), line_alone
    FROM unnest(line_) AS l
    RETURNING n INTO new_line;
    RETURN QUERY
    SELECT 1, new_line, l.token, l.number, l.errors, l.action, l.account, l.email, l.login, l.secret,
           l.code, line_alone::int::bigint, NULL::bigint
    FROM unnest(line_) AS l;
END
$$;

DROP FUNCTION mailroom_passed(tokens, account_status);
DROP FUNCTION mailroom_next_due(job_type, timestamptz);

DO $$
BEGIN
    -- CREATE OR REPLACE has taken the search path away.
    EXECUTE format('ALTER FUNCTION mailroom_lease(text, bigint, int, int, timestamptz,
        double precision, double precision, bigint, bool, int)
        SET search_path = pg_catalog, %I, pg_temp', current_schema());
END
$$;

COMMIT;
