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
-- A line's row keeps its tokens until the last of them is answered. An answered
-- token has a row (token, number) in attempts. So a mail costs one inserted
-- row, and the lease of its line two.
--
-- An answer is fenced by the line's row: it counts only while that row is there
-- and its owner is still the answering collector. A row's number alone would not
-- do, because numbers may come again after a failover. An owner's number is
-- random, and does not come again.

BEGIN;

ALTER TABLE deliveries
    ADD COLUMN numbers int[],      -- each token's attempt number; null: all are 1
    ADD COLUMN errors int[],       -- each token's failed attempts so far; null: none
    ADD COLUMN alone bool NOT NULL DEFAULT false, -- senders died with it: it gets a line of its own
    ADD COLUMN due timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN leased_at timestamptz NOT NULL DEFAULT clock_timestamp();
CREATE INDEX deliveries_due_idx ON deliveries (queue, due, n) WHERE owner = 0;

CREATE TABLE attempts (
    token   bigint NOT NULL,
    number  int NOT NULL,          -- 0: it was never leased
    run     bigint NOT NULL,
    leased  timestamptz,
    ended   timestamptz NOT NULL DEFAULT clock_timestamp(),
    outcome text NOT NULL CHECK (outcome IN
        ('sent', 'transient', 'dead', 'expired', 'returned', 'lost', 'late', 'retried')),
    text    text
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
CREATE FUNCTION mailroom_spend(queue text, wanted int, per_s double precision, burst double precision,
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
            ELSE ceil(extract(epoch FROM (b.day + 1)::timestamp AT TIME ZONE 'UTC' - now_) * 1000) END;
    END IF;
    UPDATE budgets AS s SET left_ = b.left_ - granted, at = now_, day = b.day,
        today = b.today + granted WHERE s.queue = b.queue;
END
$$;

-- Gives back what was granted and not used, in the transaction of the grant.
CREATE FUNCTION mailroom_unspend(queue text, unused int) RETURNS void
LANGUAGE sql SECURITY DEFINER AS $$
    UPDATE budgets AS s SET left_ = left_ + unused, today = today - unused
    WHERE s.queue::text = mailroom_unspend.queue
$$;

-- Returns why a token does not get its turn; null when it does.
CREATE FUNCTION mailroom_passed(t tokens, status account_status) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN t.id IS NULL THEN 'deleted'
        WHEN t.consumed_at IS NOT NULL THEN 'consumed'
        WHEN t.expires_at <= extract(epoch FROM clock_timestamp()) THEN 'expired'
        WHEN t.action = 'activation' AND status = 'provisioned' THEN NULL
        WHEN t.action = 'password_recovery' AND status = 'active' THEN NULL
        ELSE 'the account is ' || coalesce(status::text, 'gone')
    END
$$;

-- Returns the next tokens of a lane in the cursor's order, at most `most`, behind
-- the position (after_xid, after_id) of the tick.
CREATE FUNCTION mailroom_ahead(actions token_action[], seen pg_snapshot, tick pg_snapshot,
    after_xid xid8, after_id bigint, most int) RETURNS TABLE (xid xid8, id bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    running xid8[] := ARRAY(SELECT * FROM pg_snapshot_xip(seen));
    unseen xid8 := pg_snapshot_xmax(seen);
    unborn xid8 := pg_snapshot_xmax(tick);
BEGIN
    -- Both are ranges of the index; without the bound above, the last read of a
    -- tick would walk over everything that came later.
    RETURN QUERY
    SELECT next.xid, next.id
    FROM unnest(actions) AS a
    CROSS JOIN LATERAL (
        (SELECT t.xid, t.id FROM tokens AS t
         WHERE t.action = a AND t.xid = ANY (running) AND (t.xid, t.id) > (after_xid, after_id)
           AND pg_visible_in_snapshot(t.xid, tick)
         ORDER BY t.xid, t.id LIMIT most)
        UNION ALL
        (SELECT t.xid, t.id FROM tokens AS t
         WHERE t.action = a AND t.xid >= unseen AND t.xid < unborn
           AND (t.xid, t.id) > (after_xid, after_id) AND pg_visible_in_snapshot(t.xid, tick)
         ORDER BY t.xid, t.id LIMIT most)) AS next
    ORDER BY next.xid, next.id
    LIMIT most;
END
$$;

-- Returns whether the oldest token that a lane has not taken is older than age_s.
CREATE FUNCTION mailroom_aged(c cursors, age_s int) RETURNS bool
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM (
            SELECT id FROM mailroom_ahead(c.actions, c.seen, c.tick, c.xid, c.id, 1)
            UNION ALL
            SELECT id FROM mailroom_ahead(c.actions, c.tick, pg_current_snapshot(), '0', 0, 1)
            LIMIT 1) AS first
        JOIN tokens AS t ON t.id = first.id
        WHERE t.created_at <= extract(epoch FROM clock_timestamp()) - age_s)
$$;

-- Returns in how many milliseconds something becomes due that was not due at the time `after`; null
-- when nothing does.
CREATE FUNCTION mailroom_next_due(q job_type, after timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT greatest(0, ceil(extract(epoch FROM due - clock_timestamp()) * 1000))::bigint
    FROM deliveries WHERE queue = q AND owner = 0 AND due > after
    ORDER BY due LIMIT 1
$$;

-- Leases up to `wanted` tokens to `owner` as one line: first what is due to be
-- tried again, then what the cursor has next, lane by lane. With fewer than
-- `fewest` it leaves all as it is.
--
-- due_from   nothing is due that is older; spares a walk over what was taken long ago
-- aged_turn  this batch is for a lane whose oldest token has waited for ageing_s
-- per_s      0: no budget
--
-- Rows of kind 1 are the line's tokens, in order. One row of kind 0 comes last:
-- number is how many tokens would make the line; errors is 1 when more may wait;
-- wait_ms is how long the budget stays spent; due_ms is in how many milliseconds the
-- next token is due to be tried again.
CREATE FUNCTION mailroom_lease(queue text, owner bigint, wanted int, fewest int,
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
    room int := wanted;            -- tokens that the line still takes
    examined int := 0;
    before int;
    more bool := false;
    line_alone bool := false;
    budget_ms bigint := 0;
    granted int;
    d deliveries;
    cut int;                       -- tokens taken of a row of deliveries
    used_rows bigint[] := '{}';
    shrunk_row bigint;
    shrunk_by int;
    c cursors;
    moved cursors[] := '{}';
    found_xids xid8[];
    found bigint[];
    seen_all bool;
    candidates bigint[];
    candidate_numbers int[];
    candidate_errors int[];
    tokens_ bigint[] := '{}';      -- the line
    numbers_ int[] := '{}';
    errors_ int[] := '{}';
    passed_ bigint[] := '{}';
    passed_numbers int[] := '{}';
    passed_why text[] := '{}';
    ok bigint[]; ok_n int[]; ok_e int[]; no bigint[]; no_n int[]; no_why text[];
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
            CONTINUE WHEN d.alone AND cardinality(tokens_) + cardinality(passed_) > 0;
            cut := least(room, cardinality(d.tokens));
            SELECT array_agg(t ORDER BY at) FILTER (WHERE why IS NULL),
                   array_agg(num ORDER BY at) FILTER (WHERE why IS NULL),
                   array_agg(err ORDER BY at) FILTER (WHERE why IS NULL),
                   array_agg(t) FILTER (WHERE why IS NOT NULL),
                   array_agg(num) FILTER (WHERE why IS NOT NULL),
                   array_agg(why) FILTER (WHERE why IS NOT NULL)
            INTO ok, ok_n, ok_e, no, no_n, no_why
            FROM (SELECT u.t, u.at, coalesce(d.numbers[u.at], 1) AS num,
                         coalesce(d.errors[u.at], 0) AS err,
                         mailroom_passed(tok, a.status) AS why
                  FROM unnest(d.tokens[1:cut]) WITH ORDINALITY AS u (t, at)
                  LEFT JOIN tokens AS tok ON tok.id = u.t
                  LEFT JOIN accounts AS a ON a.id = tok.account) AS judged;
            tokens_ := tokens_ || coalesce(ok, '{}');
            numbers_ := numbers_ || coalesce(ok_n, '{}');
            errors_ := errors_ || coalesce(ok_e, '{}');
            passed_ := passed_ || coalesce(no, '{}');
            passed_numbers := passed_numbers || coalesce(no_n, '{}');
            passed_why := passed_why || coalesce(no_why, '{}');
            room := room - coalesce(cardinality(ok), 0);
            IF cut < cardinality(d.tokens) THEN
                shrunk_row := d.n;
                shrunk_by := cut;
            ELSE
                used_rows := used_rows || d.n;
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
    FOR c IN
        SELECT lanes.* FROM (SELECT DISTINCT x.lane FROM cursors AS x WHERE x.queue = q) AS l
        CROSS JOIN LATERAL (
            SELECT * FROM cursors AS x WHERE x.queue = q AND x.lane = l.lane ORDER BY x.n DESC LIMIT 1
        ) AS lanes
        ORDER BY (CASE WHEN aged_turn AND mailroom_aged(lanes, ageing_s) THEN 0 ELSE 1 END), lanes.lane
    LOOP
        EXIT WHEN room <= 0;
        SELECT * INTO c FROM cursors AS x WHERE x.queue = q AND x.lane = c.lane
        ORDER BY x.n DESC LIMIT 1 FOR UPDATE;
        seen_all := false;
        before := examined;
        LOOP
            SELECT array_agg(h.id ORDER BY h.xid, h.id), array_agg(h.xid ORDER BY h.xid, h.id)
            INTO found, found_xids
            FROM mailroom_ahead(c.actions, c.seen, c.tick, c.xid, c.id, room) AS h;
            IF found IS NULL THEN
                EXIT WHEN seen_all;
                -- The tick is drained: all of it was seen, and the next begins.
                seen_all := true;
                c.seen := c.tick;
                c.tick := pg_current_snapshot();
                c.xid := '0';
                c.id := 0;
                CONTINUE;
            END IF;
            c.xid := found_xids[cardinality(found)];
            c.id := found[cardinality(found)];
            examined := examined + cardinality(found);
            SELECT array_agg(t ORDER BY at) FILTER (WHERE why IS NULL),
                   array_agg(t) FILTER (WHERE why IS NOT NULL),
                   array_agg(why) FILTER (WHERE why IS NOT NULL)
            INTO ok, no, no_why
            FROM (SELECT u.t, u.at, mailroom_passed(tok, a.status) AS why
                  FROM unnest(found) WITH ORDINALITY AS u (t, at)
                  LEFT JOIN tokens AS tok ON tok.id = u.t
                  LEFT JOIN accounts AS a ON a.id = tok.account) AS judged;
            tokens_ := tokens_ || coalesce(ok, '{}');
            numbers_ := numbers_ || array_fill(1, ARRAY[coalesce(cardinality(ok), 0)]);
            errors_ := errors_ || array_fill(0, ARRAY[coalesce(cardinality(ok), 0)]);
            passed_ := passed_ || coalesce(no, '{}');
            passed_numbers := passed_numbers || array_fill(0, ARRAY[coalesce(cardinality(no), 0)]);
            passed_why := passed_why || coalesce(no_why, '{}');
            room := room - coalesce(cardinality(ok), 0);
            EXIT WHEN room = 0 OR examined > 4 * wanted + 1000;
        END LOOP;
        -- A lane of which nothing was read stays where it is.
        IF examined > before THEN
            moved := moved || c;
        END IF;
        more := more OR room = 0 OR examined > 4 * wanted + 1000;
        EXIT WHEN examined > 4 * wanted + 1000;
    END LOOP;

    IF per_s > 0 AND granted > cardinality(tokens_) THEN
        PERFORM mailroom_unspend(queue, granted - cardinality(tokens_));
    END IF;
    kind := 0;
    number := cardinality(tokens_);
    errors := more::int;
    wait_ms := budget_ms;
    -- With too few tokens for a line nothing is taken. With none, the cursor still moves past the
    -- tokens that were passed over, so that the next look begins behind them.
    IF cardinality(tokens_) < fewest AND cardinality(tokens_) > 0 AND NOT line_alone THEN
        due_ms := mailroom_next_due(q, looked);
        RETURN NEXT;
        RETURN;
    END IF;
    UPDATE cursors AS x SET n = x.n + 1, seen = m.seen, tick = m.tick, xid = m.xid, id = m.id
    FROM unnest(moved) AS m WHERE x.queue = q AND x.lane = m.lane AND x.n = m.n;
    DELETE FROM deliveries AS x WHERE x.n = ANY (used_rows);
    UPDATE deliveries AS x SET tokens = x.tokens[shrunk_by + 1:],
        numbers = x.numbers[shrunk_by + 1:], errors = x.errors[shrunk_by + 1:]
    WHERE x.n = shrunk_row;
    INSERT INTO attempts (token, number, run, outcome, text)
    SELECT p.t, p.num, me, 'expired', p.why
    FROM unnest(passed_, passed_numbers, passed_why) AS p (t, num, why);
    due_ms := mailroom_next_due(q, looked);
    RETURN NEXT;
    IF cardinality(tokens_) = 0 THEN
        RETURN;
    END IF;
    INSERT INTO deliveries (queue, owner, tokens, numbers, errors, alone)
    VALUES (q, me, tokens_, numbers_, errors_, line_alone)
    RETURNING n INTO new_line;
    RETURN QUERY
    SELECT 1, new_line, u.t, numbers_[u.at], errors_[u.at],
           CASE t.action WHEN 'activation' THEN 1 ELSE 2 END, t.account, a.email::text,
           a.login::text, t.secret, t.code::text, line_alone::int::bigint, NULL::bigint
    FROM unnest(tokens_) WITH ORDINALITY AS u (t, at)
    JOIN tokens AS t ON t.id = u.t
    LEFT JOIN accounts AS a ON a.id = t.account
    ORDER BY u.at;
END
$$;

-- Records what became of leased tokens: the i-th entry of each array belongs to
-- one answer.
--
-- outcomes   sent · transient (tried again after delays) · dead · returned (not
--            its fault: tried again after delays)
-- alones     a returned token comes again in a line of its own
-- done       lines of which every token has its answer now
-- again      an earlier call may have recorded the same already: its answer was lost
--
-- An answer for a line that is not, or no longer, the owner's changes nothing and
-- is recorded as late. Such answers are returned.
CREATE FUNCTION mailroom_answer(queue text, owner bigint, lines bigint[], tokens bigint[],
    numbers int[], outcomes text[], texts text[], errors int[], delays_ms bigint[],
    alones bool[], done bigint[], again bool)
RETURNS TABLE (token bigint, number int)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    q job_type := queue::job_type;
    me bigint := owner;
    living bigint[];
BEGIN
    IF again THEN
        SELECT array_agg(a.line), array_agg(a.t), array_agg(a.num), array_agg(a.what),
               array_agg(a.why), array_agg(a.err), array_agg(a.delay), array_agg(a.single)
        INTO lines, tokens, numbers, outcomes, texts, errors, delays_ms, alones
        FROM unnest(lines, tokens, numbers, outcomes, texts, errors, delays_ms, alones) AS a
            (line, t, num, what, why, err, delay, single)
        WHERE NOT EXISTS (SELECT FROM attempts AS x
                          WHERE x.token = a.t AND x.number = a.num AND x.run = me);
    END IF;
    -- Whoever frees the lines of the dead waits here, or we for them.
    SELECT coalesce(array_agg(l.n), '{}') INTO living
    FROM (SELECT x.n FROM deliveries AS x WHERE x.n = ANY (lines || done) AND x.owner = me
          ORDER BY x.n FOR UPDATE) AS l;
    INSERT INTO attempts (token, number, run, leased, outcome, text)
    SELECT a.t, a.num, me, d.leased_at,
           CASE WHEN a.line = ANY (living) THEN a.what ELSE 'late' END, a.why
    FROM unnest(lines, tokens, numbers, outcomes, texts) AS a (line, t, num, what, why)
    LEFT JOIN deliveries AS d ON d.n = a.line;
    IF 'dead' = ANY (outcomes) THEN
        INSERT INTO dead_letters (token, account, action, reason)
        SELECT a.t, t.account, t.action, a.why
        FROM unnest(lines, tokens, outcomes, texts) AS a (line, t, what, why)
        JOIN tokens AS t ON t.id = a.t
        WHERE a.what = 'dead' AND a.line = ANY (living);
    END IF;
    IF outcomes && ARRAY['transient', 'returned'] THEN
        INSERT INTO deliveries (queue, owner, tokens, numbers, errors, alone, due)
        SELECT q, 0, ARRAY[a.t], ARRAY[a.num + 1], ARRAY[a.err], a.single,
               clock_timestamp() + a.delay * interval '1 ms'
        FROM unnest(lines, tokens, numbers, outcomes, errors, delays_ms, alones) AS a
            (line, t, num, what, err, delay, single)
        WHERE a.what IN ('transient', 'returned') AND a.line = ANY (living);
    END IF;
    DELETE FROM deliveries AS x WHERE x.n = ANY (done) AND x.n = ANY (living);
    RETURN QUERY
    SELECT a.t, a.num FROM unnest(lines, tokens, numbers) AS a (line, t, num)
    WHERE NOT a.line = ANY (living);
END
$$;

-- Ends the attempts of an owner's lines, except those it still knows, and gives
-- their unanswered tokens back. Returns how many there were.
CREATE FUNCTION mailroom_free_lines(q job_type, gone bigint, known bigint[], how text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    total bigint := 0;
    freed bigint;
    d deliveries;
BEGIN
    FOR d IN
        SELECT * FROM deliveries AS x WHERE x.queue = q AND x.owner = gone AND x.n <> ALL (known)
        ORDER BY x.n FOR UPDATE
    LOOP
        WITH unanswered AS (
            SELECT u.t, coalesce(d.numbers[u.at], 1) AS num, coalesce(d.errors[u.at], 0) AS err
            FROM unnest(d.tokens) WITH ORDINALITY AS u (t, at)
            WHERE NOT EXISTS (
                SELECT FROM attempts AS a WHERE a.token = u.t
                  AND a.number = coalesce(d.numbers[u.at], 1) AND a.run = gone
                  AND a.outcome <> 'late')
        ), ended AS (
            INSERT INTO attempts (token, number, run, leased, outcome, text)
            SELECT t, num, gone, d.leased_at, 'lost', how FROM unanswered
        ), again AS (
            INSERT INTO deliveries (queue, owner, tokens, numbers, errors, alone, due)
            SELECT q, 0, array_agg(t), array_agg(num + 1), array_agg(err), d.alone,
                   clock_timestamp()
            FROM unanswered HAVING count(*) > 0
        )
        SELECT count(*) INTO freed FROM unanswered;
        DELETE FROM deliveries AS x WHERE x.n = d.n;
        total := total + freed;
    END LOOP;
    RETURN total;
END
$$;

-- Frees the unanswered tokens of a collector that is gone, and forgets it. Returns
-- how many there were. `how` says what is known of its end.
CREATE FUNCTION mailroom_free(queue text, gone bigint, how text, tokens bigint DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM owners AS o WHERE o.queue::text = mailroom_free.queue AND o.owner = gone;
    IF NOT FOUND THEN
        RETURN 0; -- another one was quicker
    END IF;
    INSERT INTO runs (run, event, queue, how, tokens)
    VALUES (gone, 'ended', queue::job_type, how, mailroom_free.tokens);
    RETURN mailroom_free_lines(queue::job_type, gone, '{}', how);
END
$$;

-- A collector calls this before it works. Takes the collector's own lock and its share of
-- the queue's lock. Frees lines of the collector that it does not know: they were leased
-- by a request whose answer it never got. Returns null when all is well, or else what is
-- wrong.
CREATE FUNCTION mailroom_join(queue text, owner bigint, known bigint[], host text, version text,
    settings text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_variable
DECLARE
    job jobs;
BEGIN
    SELECT * INTO job FROM jobs AS j WHERE j.job_type::text = queue;
    IF NOT FOUND THEN
        RETURN 'unknown';
    END IF;
    IF job.mode IS NULL OR job.cluster IS DISTINCT FROM mailroom_cluster() THEN
        PERFORM mailroom_settle(queue, 'leased');
        SELECT * INTO job FROM jobs AS j WHERE j.job_type::text = queue;
    END IF;
    IF job.mode <> 'leased' THEN
        RETURN job.mode;
    END IF;
    IF mailroom_bell() IS NOT NULL THEN
        RETURN 'bell';
    END IF;
    -- First the locks, then the look at what is ours.
    IF NOT pg_try_advisory_lock_shared(mailroom_lock_key(queue, 'queue')) OR
       NOT pg_try_advisory_lock(mailroom_lock_key(queue, owner::text)) THEN
        RETURN 'locked';
    END IF;
    INSERT INTO owners AS o (queue, owner) VALUES (job.job_type, owner) ON CONFLICT DO NOTHING;
    PERFORM mailroom_free_lines(job.job_type, owner, known, 'its answer got lost');
    IF host IS NOT NULL THEN
        INSERT INTO runs (run, event, queue, host, version, settings)
        VALUES (owner, 'started', job.job_type, host, version, settings);
    END IF;
    PERFORM mailroom_partitions();
    RETURN NULL;
END
$$;

-- A collector calls this when it ends in good order: nothing is leased any more.
CREATE FUNCTION mailroom_leave(queue text, owner bigint, how text, tokens bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_variable
BEGIN
    PERFORM mailroom_free(queue, owner, how, tokens);
END
$$;

-- Says that this collector is alive; false when another has freed its lines.
CREATE FUNCTION mailroom_renew(queue text, owner bigint) RETURNS bool
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    UPDATE owners AS o SET renewed = o.renewed + 1
    WHERE o.queue::text = mailroom_renew.queue AND o.owner = mailroom_renew.owner;
    RETURN FOUND;
END
$$;

-- Returns the collectors whose lines are leased, and whether each still has its lock.
-- Other collectors watch them by this.
CREATE FUNCTION mailroom_others(queue text, owner bigint)
RETURNS TABLE (other bigint, renewed bigint, connected bool)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT o.owner, o.renewed, EXISTS (
        SELECT FROM pg_locks AS l
        JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
        WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
          AND l.classid::bigint = key >> 32 & 4294967295 AND l.objid::bigint = key & 4294967295)
    FROM owners AS o, mailroom_lock_key(mailroom_others.queue, o.owner::text) AS key
    WHERE o.queue::text = mailroom_others.queue AND o.owner <> mailroom_others.owner AND o.owner <> 0
$$;

-- Makes the partitions of today and the next days; called by each collector.
CREATE FUNCTION mailroom_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    day date;
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(mailroom_lock_key('', 'partitions'));
    FOR day IN SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + g FROM generate_series(0, 7) AS g
    LOOP
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE %s.%I PARTITION OF attempts FOR VALUES FROM (%L) TO (%L)',
                (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'attempts'::regclass),
                name, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
        EXCEPTION WHEN check_violation THEN
            NULL; -- this day has begun without it, and stays in attempts_rest
        END;
    END LOOP;
END
$$;

-- For administrators: forgets attempts and runs that are older than this. It drops
-- whole days, which costs little. It does not wait long for a reader, because
-- everybody else would queue behind the drop; then it fails and can be called again.
-- Returns how many days were dropped.
CREATE FUNCTION mailroom_forget(older interval) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '200ms' AS $$
DECLARE
    before timestamptz := clock_timestamp() - older;
    part regclass;
    dropped int := 0;
BEGIN
    IF older < interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the age must not be negative';
    END IF;
    FOR part IN
        SELECT inhrelid::regclass FROM pg_inherits
        WHERE inhparent = 'attempts'::regclass
          AND (substring(inhrelid::regclass::text FROM 'attempts_(\d{8})$')::date + 1)::timestamp
              AT TIME ZONE 'UTC' <= before
    LOOP
        EXECUTE format('DROP TABLE %s', part);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM attempts_rest WHERE ended < before;
    DELETE FROM runs WHERE at < before;
    RETURN dropped;
END
$$;

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
                THEN CASE WHEN h.leased THEN 'leased' WHEN h.number > 1 THEN 'retry' ELSE 'scheduled' END
            WHEN a.outcome IS NULL THEN 'scheduled'
            ELSE a.outcome END AS state,
       coalesce(a.number, 0) AS attempts, a.text AS last_text, a.ended AS last_at, h.due
FROM tokens AS t
LEFT JOIN held AS h ON h.token = t.id
LEFT JOIN LATERAL (SELECT * FROM attempts AS x WHERE x.token = t.id AND x.outcome <> 'late'
                   ORDER BY x.number DESC, x.ended DESC LIMIT 1) AS a ON true;

-- Shows how many tokens are in each state, and since when the oldest unfinished one
-- waits. Finished tokens are those of today.
CREATE VIEW mailroom_totals AS
SELECT 'scheduled' AS state, count(*) AS tokens, to_timestamp(min(t.created_at)) AS oldest
FROM jobs AS j, mailroom_untaken(j.job_type::text) AS u JOIN tokens AS t ON t.id = u.token
UNION ALL
SELECT CASE WHEN owner = 0 THEN 'retry' ELSE 'leased' END, sum(cardinality(tokens)), min(leased_at)
FROM deliveries GROUP BY 1
UNION ALL
SELECT outcome, count(*), min(ended) FROM attempts
WHERE ended >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
GROUP BY 1;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mailroom_spend(text, int, double precision, double precision, bigint)',
        'mailroom_unspend(text, int)', 'mailroom_passed(tokens, account_status)',
        'mailroom_ahead(token_action[], pg_snapshot, pg_snapshot, xid8, bigint, int)',
        'mailroom_aged(cursors, int)', 'mailroom_next_due(job_type, timestamptz)',
        'mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision,
            bigint, bool, int)',
        'mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[], bigint[],
            bool[], bigint[], bool)',
        'mailroom_join(text, bigint, bigint[], text, text, text)',
        'mailroom_leave(text, bigint, text, bigint)', 'mailroom_renew(text, bigint)',
        'mailroom_others(text, bigint)', 'mailroom_free_lines(job_type, bigint, bigint[], text)', 'mailroom_free(text, bigint, text, bigint)', 'mailroom_partitions()',
        'mailroom_forget(interval)', 'mailroom_retry(bigint)', 'mailroom_bury(bigint, text)']
        ::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    mailroom_spend(text, int, double precision, double precision, bigint),
    mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision, bigint,
        bool, int),
    mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[], bigint[], bool[],
        bigint[], bool),
    mailroom_join(text, bigint, bigint[], text, text, text), mailroom_leave(text, bigint, text, bigint),
    mailroom_renew(text, bigint), mailroom_others(text, bigint), mailroom_free(text, bigint, text, bigint), mailroom_partitions()
    TO mailroom_collector;

COMMIT;
