-- Mends: password recoveries, for which people wait, had to wait behind any
-- backlog of activations. And 000019 knew lanes, but no command made them, and
-- each lease read every version of the cursor to find them.
--
-- A lane is an action with a cursor of its own; the first lane goes first. One batch
-- in four (aged_turn) is a lower lane's whose oldest token has waited for ageing_s.
-- Tokens that are to be tried again go before all lanes: they had their turn.
--
-- Lanes are a property of the queue and need the leased mode: the other modes read one
-- cursor.

BEGIN;

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
    lanes_max int := cardinality(enum_range(NULL::token_action));
    lane_ int;                     -- below 0: that lane, if its oldest token has aged
    lanes_done int[] := '{}';
    c cursors;
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
    IF aged_turn THEN
        -- Several lanes are always locked in their order, so that no deadlock is possible.
        FOR lane_ IN 1 .. lanes_max LOOP
            PERFORM FROM cursors AS x WHERE x.queue = q AND x.lane = lane_
            ORDER BY x.n DESC LIMIT 1 FOR UPDATE;
        END LOOP;
    END IF;
    FOREACH lane_ IN ARRAY
        ARRAY(SELECT -g FROM generate_series(2, lanes_max) AS g WHERE aged_turn ORDER BY g) ||
        ARRAY(SELECT g FROM generate_series(1, lanes_max) AS g ORDER BY g)
    LOOP
        EXIT WHEN room <= 0 OR examine <= 0;
        CONTINUE WHEN lane_ = ANY (lanes_done);
        SELECT * INTO c FROM cursors AS x WHERE x.queue = q AND x.lane = abs(lane_)
        ORDER BY x.n DESC LIMIT 1 FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
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
                   b.created_at, (b.its).email, (b.its).login,
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
                   count(*)::int AS rows,
                   min(t.created_at) FILTER (WHERE t.why IS NULL) AS oldest
            FROM turn AS t
        )
        SELECT taken.*, w.part, w.xid, w.id, pg_current_snapshot() AS now
        INTO last
        FROM taken
        LEFT JOIN turn AS w ON w.examined = taken.rows;
        -- A lane of which nothing was read stays where it is.
        CONTINUE WHEN last.rows = 0;
        IF lane_ < 0 THEN
            -- Times of tokens are whole seconds, rounded down.
            CONTINUE WHEN last.oldest IS NULL OR last.oldest + 1 + ageing_s > now_s;
            lanes_done := lanes_done || -lane_;
        END IF;
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
    SELECT q, me, array_agg(l.token), array_agg(l.number) FILTER (WHERE NOT first),
           array_agg(l.errors) FILTER (WHERE NOT first), line_alone
    FROM unnest(line_) AS l,
         (SELECT bool_and(f.number = 1 AND f.errors = 0) FROM unnest(line_) AS f) AS of (first)
    RETURNING n INTO new_line;
    RETURN QUERY
    SELECT 1, new_line, l.token, l.number, l.errors, l.action, l.account, l.email, l.login, l.secret,
           l.code, line_alone::int::bigint, NULL::bigint
    FROM unnest(line_) AS l;
END
$$;

DROP FUNCTION mailroom_aged(cursors, int);
DROP FUNCTION mailroom_ahead(token_action[], pg_snapshot, pg_snapshot, xid8, bigint, int);

-- For administrators, while no collector runs: 'password_recovery,activation' gives
-- each action a lane, in this order; '' makes one lane of all. Returns how many lanes
-- there were before. The queue becomes a leased one, if nobody has used it yet.
--
-- A new lane begins where the lane stood that had its action before. Several lanes have
-- no common place. So when they become one, all that waits is written down in deliveries
-- as nobody's, and the one lane begins behind it.
CREATE FUNCTION mailroom_lanes(lanes text, queue text DEFAULT 'mailroom') RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    q job_type := queue::job_type;
    every token_action[] := enum_range(NULL::token_action);
    wanted text[] := CASE WHEN lanes = '' THEN '{}' ELSE string_to_array(lanes, ',') END;
    mode_ text;
    before int;
BEGIN
    IF cardinality(wanted) > 0 AND
       ARRAY(SELECT w FROM unnest(wanted) AS w ORDER BY w) <>
       ARRAY(SELECT a::text FROM unnest(every) AS a ORDER BY a::text) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('the lanes are ''%s''; allowed is each of %s once, comma-joined, or nothing',
                lanes, array_to_string(every, ', '));
    END IF;
    PERFORM mailroom_settle(queue, 'leased');
    -- Settling has the lock of the queue to itself: no collector runs.
    SELECT mode INTO mode_ FROM jobs WHERE job_type = q;
    IF mode_ <> 'leased' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('lanes need the mode leased, and the queue is used with ''%s''', mode_),
            HINT = 'Run MAILROOM_DEQUEUE=leased mailroom-collector --switch-mode.';
    END IF;
    SELECT count(*) INTO before FROM cursors AS c WHERE c.queue = q;
    IF cardinality(wanted) > 0 THEN
        WITH old AS (
            DELETE FROM cursors AS c WHERE c.queue = q RETURNING *
        )
        INSERT INTO cursors (queue, lane, n, actions, seen, tick, xid, id)
        SELECT q, w.at, max(o.n) OVER () + 1, ARRAY[w.action]::token_action[], o.seen, o.tick,
               o.xid, o.id
        FROM unnest(wanted) WITH ORDINALITY AS w (action, at)
        JOIN old AS o ON w.action::token_action = ANY (o.actions);
    ELSIF before > 1 THEN
        -- This transaction's own tokens, of before or to come, are not taken: its
        -- number counts as running.
        PERFORM pg_current_xact_id();
        WITH here AS MATERIALIZED (
            SELECT pg_current_xact_id() AS own, pg_current_snapshot() AS now
        ), waits AS MATERIALIZED (
            SELECT u.token, row_number() OVER (ORDER BY u.xid, u.token) AS at
            FROM mailroom_untaken(queue) AS u, here WHERE u.xid <> here.own
        ), given AS (
            INSERT INTO deliveries (queue, owner, tokens)
            SELECT q, 0, array_agg(w.token ORDER BY w.at) FROM waits AS w GROUP BY w.at / 100
            ORDER BY w.at / 100
        ), place AS (
            SELECT format('%s:%s:%s', least(pg_snapshot_xmin(h.now), h.own),
                greatest(pg_snapshot_xmax(h.now)::text::bigint, h.own::text::bigint + 1),
                (SELECT string_agg(x::text, ',' ORDER BY x) FROM (
                    SELECT * FROM pg_snapshot_xip(h.now) UNION SELECT h.own
                    UNION SELECT g::text::xid8 FROM generate_series(
                        pg_snapshot_xmax(h.now)::text::bigint, h.own::text::bigint) AS g) AS r (x))
                )::pg_snapshot AS seen
            FROM here AS h
        ), gone AS (
            DELETE FROM cursors AS c WHERE c.queue = q AND c.lane > 1
        )
        UPDATE cursors AS c
        SET n = c.n + 1, actions = every, seen = p.seen, tick = p.seen, xid = '0', id = 0
        FROM place AS p WHERE c.queue = q AND c.lane = 1;
        INSERT INTO owners AS o (queue, owner)
        SELECT q, 0 FROM deliveries AS d WHERE d.queue = q AND d.owner = 0 LIMIT 1
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN before;
END
$$;

-- Does what it did before, but refuses while there are lanes.
CREATE OR REPLACE FUNCTION mailroom_switch_mode(queue text, new_mode text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    settled bigint := mailroom_settle(queue, new_mode);
    old_mode text;
BEGIN
    SELECT mode INTO STRICT old_mode FROM jobs WHERE job_type::text = queue FOR UPDATE;
    IF old_mode = new_mode THEN
        RETURN settled;
    END IF;
    IF (SELECT count(*) FROM cursors AS c WHERE c.queue::text = mailroom_switch_mode.queue) > 1 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the queue has lanes, which the mode ''%s'' does not know', new_mode),
            HINT = 'SELECT mailroom_lanes('''') makes one lane of them.';
    END IF;
    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
    RETURN (SELECT count(*) FROM mailroom_untaken(queue))
         + (SELECT coalesce(sum(cardinality(tokens)), 0) FROM deliveries AS d
            WHERE d.queue::text = mailroom_switch_mode.queue);
END
$$;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision,
            bigint, bool, int)',
        'mailroom_lanes(text, text)', 'mailroom_switch_mode(text, text)']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
    END LOOP;
END
$$;

COMMIT;
