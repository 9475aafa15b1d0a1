-- Judges each token by a function again, and walks over what was taken.

BEGIN;

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

-- Returns in how many milliseconds something becomes due that was not due at the time `after`; null
-- when nothing does.
CREATE FUNCTION mailroom_next_due(q job_type, after timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT greatest(0, ceil(extract(epoch FROM due - clock_timestamp()) * 1000))::bigint
    FROM deliveries WHERE queue = q AND owner = 0 AND due > after
    ORDER BY due LIMIT 1
$$;

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

DROP TYPE mailroom_leased_token;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION mailroom_lease(text, bigint, int, int, timestamptz,
        double precision, double precision, bigint, bool, int)
        SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION mailroom_passed(tokens, account_status)
        SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION mailroom_next_due(job_type, timestamptz)
        SET search_path = pg_catalog, %I, pg_temp', current_schema());
    REVOKE EXECUTE ON FUNCTION mailroom_passed(tokens, account_status),
        mailroom_next_due(job_type, timestamptz) FROM public;
END
$$;

COMMIT;
