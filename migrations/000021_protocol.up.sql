-- Mends: there were two collectors, one for the modes cursor and shared and one for leased, each
-- with statements of its own; whoever wrote a collector had to copy them.
--
-- The protocol of the queue is now functions, for collectors in any language (README.md, "The
-- functions of the queue"). The unit is the line: a row of deliveries. A random number beside its n
-- tells it from a line that gets the same n after a failover.

BEGIN;

-- Executes a statement, with the name of this schema in place of `here`. The functions name every
-- table by its schema, and their search path has pg_catalog alone. So no function, operator or
-- table that another role makes can come in between.
CREATE OR REPLACE PROCEDURE pg_temp.make(statement text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE regexp_replace(statement, '\mhere\.(?=[a-z%])', quote_ident(current_schema()) || '.',
    'g');
END
$$;

CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_protocol() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'
$make$);

-- Raises. Queries call it where a condition must hold.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_refuse(why text) RETURNS bool
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE invalid_transaction_state USING MESSAGE = why;
END
$$
$make$);

-- Returns the snapshot of the statement, in which our own transaction counts as running.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_now() RETURNS pg_snapshot LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN pg_visible_in_snapshot(pg_current_xact_id_if_assigned(), pg_current_snapshot())
        THEN here.mailroom_clamp(pg_current_snapshot(), pg_current_xact_id_if_assigned())
        ELSE pg_current_snapshot() END
$$
$make$);

-- Returns the transactions that have ended between two snapshots a and b, as stretches of numbers:
-- those that ran in a and do not run in b, and those from xmax(a) up to below xmax(b) that do not
-- run in b.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_ended(a pg_snapshot, b pg_snapshot)
RETURNS TABLE (from_xid xid8, to_xid xid8)
LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT x, (x::text::bigint + 1)::text::xid8 FROM pg_snapshot_xip(a) AS x
    WHERE pg_visible_in_snapshot(x, b)
    UNION ALL
    SELECT x, coalesce((SELECT y FROM pg_snapshot_xip(b) AS y WHERE y >= x ORDER BY y LIMIT 1),
        pg_snapshot_xmax(b))
    FROM (SELECT pg_snapshot_xmax(a)
          UNION ALL
          SELECT (y::text::bigint + 1)::text::xid8 FROM pg_snapshot_xip(b) AS y
          WHERE y >= pg_snapshot_xmax(a)) AS begins (x)
    ORDER BY 1;
END
$$
$make$);

-- The tokens that wait behind a cursor, in their order, each with the reason why it is passed over
-- now, or null. Everything is lazy: whoever reads ten rows makes the server walk ten. The server
-- puts the function into the statement that calls it, so it must stay a plain SQL function.
--
-- Two parts wait: the rest of the tick, and what came after it. Each is a few stretches of the
-- index on (action, xid, id). Nothing else is looked at, however much a running transaction has
-- inserted. Nearly always nothing ran in any of the snapshots, and each part is one stretch. A
-- function that is called only where it is needed finds the others, because to set up its steps
-- takes longer than to read ten tokens.
--
-- A stretch begins behind (from_xid, from_id): with the least possible id, the tokens of from_xid
-- belong to it. It ends before to_xid. That is a comparison of xid alone: (xid, id) < (to_xid, ...)
-- would walk all entries of to_xid.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_behind(actions here.token_action[], seen pg_snapshot,
    tick pg_snapshot, xid xid8, id bigint, now pg_snapshot, clock bigint)
RETURNS TABLE (part int, xid xid8, id bigint, action here.token_action, account bigint,
    email varchar, login varchar, secret bytea, code varchar, created_at bigint, passed text)
LANGUAGE sql STABLE AS $$
    SELECT p.part, t.xid, t.id, t.action, t.account, a.email, a.login,
           -- A secret of another length is not sent, and may be very long.
           CASE WHEN octet_length(t.secret) = 32 THEN t.secret END, t.code, t.created_at,
           CASE
               WHEN t.consumed_at IS NOT NULL THEN 'consumed'
               WHEN t.expires_at <= $7 THEN 'expired'
               WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
               WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
               ELSE 'the account is ' || coalesce(a.status::text, 'gone')
           END
    FROM (VALUES (1, $2, $3, $4, $5), (2, $3, $6, '0'::xid8, 0::bigint))
        AS p (part, a, b, xid, id)
    CROSS JOIN LATERAL (
        SELECT pg_snapshot_xmax(p.a), pg_snapshot_xmax(p.b)
        WHERE pg_snapshot_xmin(p.a) = pg_snapshot_xmax(p.a)
          AND pg_snapshot_xmin(p.b) = pg_snapshot_xmax(p.b)
        UNION ALL
        SELECT e.from_xid, e.to_xid FROM here.mailroom_ended(p.a, p.b) AS e
        WHERE NOT (pg_snapshot_xmin(p.a) = pg_snapshot_xmax(p.a)
                   AND pg_snapshot_xmin(p.b) = pg_snapshot_xmax(p.b))
    ) AS s (from_xid, to_xid)
    CROSS JOIN LATERAL (
        -- Both branches have their columns in the same order and an ORDER BY of their own, so the
        -- rows of the two actions are merged one by one without a sort.
        (SELECT x.xid, x.id, x.action, x.account, x.secret, x.code, x.consumed_at, x.expires_at,
                x.created_at
         FROM here.tokens AS x
         WHERE x.action = $1[1]
           AND (x.xid, x.id) > (greatest(s.from_xid, p.xid),
                CASE WHEN s.from_xid > p.xid THEN -9223372036854775808 ELSE p.id END)
           AND x.xid < s.to_xid
         ORDER BY x.xid, x.id)
        UNION ALL
        (SELECT x.xid, x.id, x.action, x.account, x.secret, x.code, x.consumed_at, x.expires_at,
                x.created_at
         FROM here.tokens AS x
         WHERE x.action = $1[2] -- null in a lane of one action
           AND (x.xid, x.id) > (greatest(s.from_xid, p.xid),
                CASE WHEN s.from_xid > p.xid THEN -9223372036854775808 ELSE p.id END)
           AND x.xid < s.to_xid
         ORDER BY x.xid, x.id)
        ORDER BY xid, id) AS t
    -- One look at the index for each token. A join might walk all accounts where there are no
    -- statistics yet.
    LEFT JOIN LATERAL (SELECT x.email, x.login, x.status FROM here.accounts AS x
        WHERE x.id = t.account
                       LIMIT 1) AS a ON true
$$
$make$);

-- The tokens that wait in the lanes of a queue, those of the first lane to read first. `clock` is
-- the time, as tokens have it. It is a parameter because the server puts no function into a
-- statement whose arguments are volatile or have a subquery: then all that waits would be read, each
-- time.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_walk(q here.job_type, first_lane int, only_lane int, clock bigint)
RETURNS TABLE (lane int, part int, xid xid8, id bigint, action here.token_action, account bigint,
    email varchar, login varchar, secret bytea, code varchar, created_at bigint, passed text)
LANGUAGE sql STABLE AS $$
    SELECT c.lane::int, w.part, w.xid, w.id, w.action, w.account, w.email, w.login, w.secret,
           w.code, w.created_at, w.passed
    FROM (SELECT c.*
          FROM generate_series(1, cardinality(enum_range(NULL::here.token_action))) AS l (lane),
               LATERAL (SELECT * FROM here.cursors AS x WHERE x.queue = q AND x.lane = l.lane
                        ORDER BY x.n DESC LIMIT 1) AS c -- an old snapshot may keep very many
          WHERE only_lane IS NULL OR l.lane = only_lane
          ORDER BY c.lane <> first_lane, c.lane) AS c
    CROSS JOIN LATERAL here.mailroom_behind(c.actions, c.seen, c.tick, c.xid, c.id,
        here.mailroom_now(), clock) AS w
    OFFSET 0
$$
$make$);

-- Returns why a line cannot carry a token, or null. Nothing in a line is quoted, so nothing in it
-- may end a field or a line, or control a terminal. The server puts the function into the
-- statement that calls it, and the next one, too.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_unsendable(action here.token_action, email varchar, login varchar,
    secret bytea, code varchar) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN email || ' ' || login COLLATE "C" ~ '[",\x01-\x1f\x7f-\x9f]' THEN
            CASE substring(email || ' ' || login COLLATE "C" FROM '[",\x01-\x1f\x7f-\x9f]')
                WHEN ',' THEN 'comma'
                WHEN '"' THEN 'quote'
                ELSE 'control character'
            END || CASE WHEN email COLLATE "C" ~ '[",\x01-\x1f\x7f-\x9f]'
                THEN ' in email' ELSE ' in login' END
        WHEN secret IS NULL THEN 'secret is not 32 bytes'
        WHEN code IS NULL AND action = 'password_recovery' THEN 'recovery without a code'
        WHEN code !~ '^[0-9]{5}$' THEN 'code is not 5 digits'
    END
$$
$make$);

-- Returns whether a line cannot carry one of several tokens, as far as their characters tell:
-- `names` and `codes` are those of all of them. To judge each by itself takes longer than all the
-- rest of a take, and nearly always nothing is found.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_suspect(names text, codes text) RETURNS bool
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(names COLLATE "C" ~ '[",\x01-\x1f\x7f-\x9f]' OR codes COLLATE "C" ~ '[^0-9]',
        false)
$$
$make$);

-- A token that was examined for a take. `lane`, `part` and `xid` are its place (mailroom_walk);
-- the lane is 0 in a row of deliveries, which has the number of the attempt, the errors before it,
-- and whether it is paid for. `passed` is why it is passed over, or null; `dead` that no line can
-- carry it.
CALL pg_temp.make($make$
CREATE TYPE here.mailroom_token AS (lane int, part int, xid xid8, id bigint,
    action here.token_action,
    account bigint, email varchar, login varchar, secret bytea, code varchar, number int,
    errors int,
    paid bool, passed text, dead bool)
$make$);

-- Returns where in a list the n-th token stands that can be sent.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_place(list here.mailroom_token[], n bigint) RETURNS int
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.ordinality::int FROM unnest(list) WITH ORDINALITY AS t
    WHERE t.passed IS NULL OFFSET n - 1 LIMIT 1
$$
$make$);

-- Continues a list with tokens of the cursor, until `room` of the list can be sent, `most` were
-- examined, or no more wait (`ended`). `n` is how many can be sent, `ids` are those of the cursor's
-- tokens, and `tick` is the snapshot of the look.
--
-- In most cases as many are examined as there is room for. Where some of them are passed over, more
-- are read, from the first one again: a list is what one snapshot saw.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_examine(q here.job_type, first_lane int, room int, most int,
    INOUT list here.mailroom_token[], OUT ids bigint[], OUT n int, OUT ended bool,
    OUT tick pg_snapshot)
LANGUAGE plpgsql AS $$
DECLARE
    given here.mailroom_token[] := list;
    given_n int := 0;
    size int;
    suspect bool;
    clock bigint := floor(extract(epoch FROM clock_timestamp()));
BEGIN
    IF cardinality(given) > 0 THEN
        given_n := (SELECT count(*) FROM unnest(given) AS t WHERE t.passed IS NULL);
    END IF;
    size := least(room - given_n, most);
    n := given_n;
    ended := false;
    WHILE size > 0 LOOP
        SELECT coalesce(array_agg(ROW(w.lane, w.part, w.xid, w.id, w.action, w.account, w.email,
                   w.login, w.secret, w.code, 1, 0, false, w.passed, false)::here.mailroom_token),
                   '{}'),
               array_agg(w.id), given_n + count(*) FILTER (WHERE w.passed IS NULL),
               count(*) < size,
               here.mailroom_now(),
               here.mailroom_suspect(string_agg(w.email || w.login, ''), string_agg(w.code, ''))
                   OR bool_or(w.secret IS NULL OR w.code IS NULL OR octet_length(w.code) <> 5)
        INTO list, ids, n, ended, tick, suspect
        FROM (SELECT * FROM here.mailroom_walk(q, first_lane, NULL, clock) LIMIT size) AS w;
        IF suspect THEN
            SELECT array_agg(ROW(t.lane, t.part, t.xid, t.id, t.action, t.account, t.email, t.login,
                       t.secret, t.code, 1, 0, false, coalesce(t.passed, u.why),
                       t.passed IS NULL AND u.why IS NOT NULL)::here.mailroom_token),
                   given_n + count(*) FILTER (WHERE t.passed IS NULL AND u.why IS NULL)
            INTO list, n
            FROM unnest(list) AS t,
                 here.mailroom_unsendable(t.action, t.email, t.login, t.secret, t.code) AS u (why);
        END IF;
        IF cardinality(given) > 0 THEN
            list := given || list;
        END IF;
        EXIT WHEN n >= room OR ended OR size >= most;
        size := least(4 * size + 100, most);
    END LOOP;
    IF n >= room THEN
        IF cardinality(list) > room THEN
            list := list[: here.mailroom_place(list, room)];
        END IF;
        n := room;
        ended := false;
    END IF;
END
$$
$make$);

-- Reads what waits for the only collector of a queue, and changes nothing: settling the line moves
-- the cursor. So nothing is written before a line goes out, and a line that is lost meanwhile is
-- read again. README.md has the parameters and columns.
--
-- One statement reads, and its rows go to the caller as they are. At a trickle all mail waits for
-- it, and under a backlog it is a third of the work; so the caller counts, and makes the place.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_read(queue text, epoch bigint, wanted int,
    behind text DEFAULT NULL)
RETURNS TABLE (kind int, token bigint, email varchar, login varchar, secret bytea, code varchar,
    part int, xid xid8, passed text, place text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
#variable_conflict use_column
DECLARE
    q here.job_type := queue::here.job_type;
    n bigint;
    seen pg_snapshot;
    tick pg_snapshot;
    at_xid xid8;
    at_id bigint;
    actions here.token_action[];
    ours bool;
    now pg_snapshot;
    clock bigint;
    parts text[];
BEGIN
    IF behind IS NULL THEN
        SELECT c.n, c.seen, c.tick, c.xid, c.id,
               c.actions, CASE WHEN cardinality(c.actions) > 1 THEN j.epoch = $2 END
        INTO n, seen, tick, at_xid, at_id, actions, ours
        FROM here.jobs AS j, LATERAL (SELECT * FROM here.cursors AS c
            WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1) AS c
        WHERE j.job_type = q;
        IF ours THEN
            NULL;
        ELSIF ours IS NULL THEN
            PERFORM here.mailroom_refuse('where there are lanes, lines must be taken');
        ELSE
            RAISE object_in_use
            USING MESSAGE = format('another collector has the queue %s', queue);
        END IF;
    ELSE
        -- The line that this one is behind was read, and its settling fails if the queue was lost.
        parts := string_to_array(behind, ';');
        n := parts[1]::bigint + 1;
        seen := parts[2];
        tick := parts[3];
        at_xid := parts[4];
        at_id := parts[5];
        actions := enum_range(NULL::here.token_action);
    END IF;
    now := here.mailroom_now();
    clock := floor(extract(epoch FROM clock_timestamp()));
    kind := 0;
    place := concat_ws(';', n, seen, tick, now);
    RETURN NEXT;
    RETURN QUERY
    SELECT CASE w.action WHEN 'activation' THEN 1 ELSE 2 END, w.id, w.email, w.login, w.secret,
           w.code, w.part, w.xid, w.passed, NULL::text
    FROM here.mailroom_behind(actions, seen, tick, at_xid, at_id, now, clock) AS w
    LIMIT wanted;
END
$$
$make$);

-- Takes lines, and returns their tokens, judged and ready to be printed. README.md has the
-- parameters and columns.
--
-- As long as too few tokens wait, a take only looks: nothing is locked, and the transaction gets no
-- number. Where the transaction has one, as behind a settled line, a statement first locks the
-- first lane's cursor, which stands for those of all lanes, and the next one reads. A statement
-- that did both and had to wait for the lock would see the new cursor, but the tokens as they were
-- before its wait. Without the lock, the cursor moves only if it is the one that was read.
--
-- Each statement, node and column costs the server as much as a few tokens. So what is usual is one
-- statement, and the variables of the rest are set up only where they are needed.
--
-- What is due comes first, and goes into the row of the first of it: so its order outlives any
-- number of deaths. Behind it come the tokens of the cursor.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_take(queue text, owner bigint, epoch bigint, wanted int, fewest int,
    lines int DEFAULT 1, answers bool DEFAULT false,
    again bigint[] DEFAULT NULL,
    due_ms bigint DEFAULT NULL, per_s float8 DEFAULT 0, burst float8 DEFAULT 1,
    daily bigint DEFAULT 0,
    aged bool DEFAULT false, ageing_s int DEFAULT 30)
RETURNS TABLE (kind int, line bigint, nonce bigint, token bigint, number int, errors int,
    email varchar,
    login varchar, secret bytea, code varchar, more bool, expired bigint, consumed bigint,
    others bigint,
    wait_ms bigint, next_due_ms bigint, alone bool, rest int)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
#variable_conflict use_column
DECLARE
    q here.job_type := queue::here.job_type;
    me bigint := owner;
    look bool := again IS NULL AND pg_current_xact_id_if_assigned() IS NULL;
    cur record;                       -- the cursor of a lane, first of the first one
    now pg_snapshot;
    clock bigint;
    room int;                         -- tokens to take at most
    looked timestamptz;
    from_when timestamptz;
    next_due timestamptz;
    done bool := false;
BEGIN
    IF wanted < 1 OR fewest NOT BETWEEN 1 AND wanted OR lines < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'wanted is %s, fewest %s and lines %s; allowed is 1 <= fewest <= wanted, and lines '
            'from 1 on',
            wanted, fewest, lines);
    END IF;
    IF look THEN
        SELECT c.ctid AS at, c.n, c.seen, c.tick, c.xid, c.id, c.actions INTO cur
        FROM here.cursors AS c WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1;
    ELSE
        SELECT c.ctid AS at, c.n, c.seen, c.tick, c.xid, c.id, c.actions INTO cur
        FROM here.cursors AS c WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1
        FOR UPDATE;
    END IF;
    IF due_ms IS DISTINCT FROM 0 THEN
        looked := clock_timestamp();
        from_when := coalesce(looked - due_ms * interval '1 ms', '-infinity');
        next_due := (SELECT d.due FROM here.deliveries AS d
            WHERE d.queue = q AND d.owner = 0 AND d.due >= from_when ORDER BY d.due LIMIT 1);
        next_due_ms := CASE WHEN next_due > looked
            THEN ceil(extract(epoch FROM next_due - looked) * 1000) END;
    END IF;

    -- The usual case, in one statement: one lane, nothing due, to read again or to pay for, and
    -- nothing waits that cannot be sent. If the cursor has moved since it was read, or something
    -- is to be passed over, it changes and returns nothing.
    IF again IS NULL AND per_s = 0 AND cardinality(cur.actions) > 1
       AND coalesce(next_due > looked, true) THEN
        now := here.mailroom_now();
        clock := floor(extract(epoch FROM clock_timestamp()));
        room := wanted * greatest(1, least(lines, 32, 1000 / wanted));
        RETURN QUERY
        WITH read AS MATERIALIZED (
            SELECT CASE w.action WHEN 'activation' THEN 1 ELSE 2 END AS kind, w.id, w.email,
                   w.login, w.secret, w.code, w.part, w.xid,
                   w.passed IS NOT NULL OR w.secret IS NULL OR octet_length(w.code) <> 5
                       OR w.code IS NULL AND w.action = 'password_recovery' AS odd
            FROM here.mailroom_behind(cur.actions, cur.seen, cur.tick, cur.xid, cur.id, now,
                clock) AS w
            LIMIT room
        ), found AS MATERIALIZED (
            SELECT f.n, f.ids, f.odd,
                   CASE WHEN f.n < fewest THEN 0 WHEN f.n < wanted THEN f.n
                        ELSE f.n - f.n % wanted END AS taken
            FROM (SELECT count(*)::int AS n, array_agg(r.id) AS ids,
                         coalesce(bool_or(r.odd), false) OR here.mailroom_suspect(
                             string_agg(r.email || r.login, ''), string_agg(r.code, '')) AS odd
                  FROM read AS r) AS f
        ), moved AS (
            UPDATE here.cursors AS c
            SET n = c.n + 1, written = pg_current_xact_id(), (seen, tick, xid, id) = (
                SELECT CASE WHEN every THEN now WHEN l.part = 2 THEN c.tick ELSE c.seen END,
                       CASE WHEN every OR l.part = 2 THEN now ELSE c.tick END, l.xid, l.id
                FROM found AS f, LATERAL (SELECT r.part, r.xid, r.id,
                        f.taken = f.n AND f.n < room AS every
                    FROM read AS r OFFSET f.taken - 1 LIMIT 1) AS l)
            -- No index serves this: the planner might walk all earlier versions.
            WHERE c.ctid = cur.at AND c.n IS NOT DISTINCT FROM cur.n
              AND (SELECT f.taken > 0 AND NOT f.odd FROM found AS f)
            RETURNING c.xmin::text::bigint = c.written::text::bigint & 4294967295 AS whole
        ), made AS (
            INSERT INTO here.deliveries (queue, owner, tokens)
            SELECT q, me, f.ids[b + 1 : least(b + wanted, f.taken)]
            FROM moved AS m, found AS f, generate_series(0, f.taken - 1, wanted) AS b
            WHERE m.whole OR here.mailroom_refuse(
                'mailroom_take was called in a savepoint, or in a block with EXCEPTION')
            RETURNING n, nonce
        ), line AS (
            SELECT m.n, m.nonce FROM made AS m
            UNION ALL
            SELECT NULL, NULL FROM found AS f WHERE f.taken = 0 AND NOT f.odd
        )
        SELECT 0, NULL::bigint, NULL::bigint, NULL::bigint, NULL::int, 0, NULL::varchar,
               NULL::varchar, NULL::bytea, NULL::varchar,
               f.taken > 0 AND (f.taken < f.n OR f.n = room), 0::bigint, 0::bigint,
               0::bigint, NULL::bigint, next_due_ms, false, NULL::int
        FROM found AS f WHERE EXISTS (SELECT FROM line)
        UNION ALL
        SELECT CASE WHEN l.n IS NULL THEN 3 ELSE r.kind END, l.n, l.nonce, r.id, 1, 0, r.email,
               r.login, r.secret, r.code, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM line AS l, LATERAL (
            SELECT r.* FROM read AS r
            OFFSET wanted * (SELECT count(*) FROM line AS o WHERE o.n < l.n) LIMIT wanted) AS r;
        done := FOUND;
    END IF;

    -- Everything else: one line at most.
    IF NOT done THEN
    DECLARE
        moves bigint := CASE WHEN look THEN cur.n END; -- as the look saw it
        lanes int := cardinality(enum_range(NULL::here.token_action)) - cardinality(cur.actions)
            + 1;                              -- one, or one for each action
        first_lane int := 1;
        most int := 4 * wanted + 64000;   -- tokens to examine at most
        waits bigint[] := '{}';           -- tokens that are due
        seen record;                      -- what was examined
        sendable here.mailroom_token[];   -- of that, what can be sent
        -- Rows of deliveries that come first, up to which of their tokens each goes, and their
        -- tokens.
        from_n bigint[] := '{}';
        from_end int[] := '{}';
        from_alone bool := false;
        due here.mailroom_token[] := '{}';
        paid int := 0;                    -- tokens that are paid for
        paid_since timestamptz;           -- the oldest of these payments; null: there is none
        moment timestamptz;               -- of the payment
        granted bigint;
        taken int;
        upto int;                         -- tokens that are taken or passed over
        every bool;                       -- these are all that wait
        places int[];                     -- of the last token of each lane
        last here.mailroom_token;
        at int;
        emptied bool;                     -- nothing is left of its lane
        whole bool;
        ids bigint[];
        tried bool := false;              -- some of them, before
        tries int[];
        failed int[];
        used int;                         -- tokens of the rows that come first
        whole_n int;                      -- rows that are used up
        gone int;                         -- the first of them that is over
        cut int;                          -- tokens of the row behind them that are used up
        line_n bigint;
        line_nonce bigint;
    BEGIN
    looked := clock_timestamp();
    moment := looked;
    kind := 0;
    errors := 0;
    expired := 0;
    consumed := 0;
    others := 0;
    alone := false;
    IF again IS NULL AND due_ms IS DISTINCT FROM 0 THEN
        waits := ARRAY(SELECT u.t
            FROM (SELECT d.tokens FROM here.deliveries AS d
                  WHERE d.queue = q AND d.owner = 0 AND d.due <= looked AND d.due >= from_when
                  ORDER BY d.due, d.n) AS d, unnest(d.tokens) AS u (t)
            LIMIT fewest);
    END IF;
    IF look THEN
        IF cardinality(waits) < fewest THEN
            seen := here.mailroom_examine(q, 1,
                CASE WHEN cardinality(waits) = 0 THEN wanted ELSE fewest - cardinality(waits) END,
                most, '{}');
            -- Rows at the head that cannot be sent are passed when they are many, or alone.
            IF seen.n < fewest - cardinality(waits) AND (cardinality(waits) > 0
                   OR coalesce(here.mailroom_place(seen.list, 1) <= 100,
                       cardinality(seen.list) = 0)) THEN
                more := false;
                IF due_ms IS DISTINCT FROM 0 THEN
                    next_due_ms := (SELECT ceil(extract(epoch FROM d.due - clock_timestamp())
                        * 1000) FROM here.deliveries AS d
                        WHERE d.queue = q AND d.owner = 0 AND d.due > looked
                        ORDER BY d.due LIMIT 1);
                END IF;
                RETURN NEXT;
                kind := 3;
                FOREACH token IN ARRAY waits || ARRAY(
                    SELECT t.id FROM unnest(seen.list) AS t WHERE t.passed IS NULL) LOOP
                    RETURN NEXT;
                END LOOP;
                RETURN;
            END IF;
        END IF;
        SELECT c.ctid AS at, c.n, c.seen, c.tick INTO cur FROM here.cursors AS c
        WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1 FOR UPDATE;
    END IF;

    IF again IS NOT NULL OR cardinality(waits) > 0 THEN
        WITH locked AS MATERIALIZED (
            SELECT d.n, d.due, d.tokens, d.numbers, d.errors, d.alone, d.paid,
                   d.paid_at > looked - interval '2 s' AS valid, d.paid_at
            -- null: none
            FROM (SELECT * FROM here.deliveries AS d WHERE d.n = ANY (again) OFFSET 0) AS d
            WHERE d.queue = q AND d.owner = me
            UNION ALL
            SELECT d.*
            FROM (SELECT d.n, d.due, d.tokens, d.numbers, d.errors, d.alone, d.paid,
                         d.paid_at > looked - interval '2 s' AS valid, d.paid_at
                  FROM here.deliveries AS d
                  WHERE d.queue = q AND d.owner = 0 AND d.due <= looked AND again IS NULL
                    AND d.due >= from_when
                  ORDER BY d.due, d.n LIMIT wanted FOR UPDATE SKIP LOCKED) AS d
        ), ordered AS (
            SELECT l.*, row_number() OVER line AS at, first_value(l.alone) OVER line AS single,
                   sum(cardinality(l.tokens)) OVER line AS until
            FROM locked AS l WINDOW line AS (ORDER BY l.due, l.n ROWS UNBOUNDED PRECEDING)
        ), used AS MATERIALIZED (
            -- A token that was in flight when senders died goes alone.
            SELECT * FROM ordered AS o
            WHERE CASE WHEN o.single THEN o.at = 1 ELSE NOT o.alone END
              AND o.until - cardinality(o.tokens) < most
        ), read AS (
            SELECT o.at, u.at AS place, u.id, t.action, t.account, a.email, a.login, t.code,
                   CASE WHEN octet_length(t.secret) = 32 THEN t.secret END AS secret,
                   coalesce(u.number, 1) AS number, coalesce(u.errors, 0) AS errors,
                   coalesce(o.valid AND u.at <= o.paid, false) AS paid,
                   CASE
                       WHEN t.id IS NULL THEN 'deleted'
                       WHEN t.consumed_at IS NOT NULL THEN 'consumed'
                       WHEN t.expires_at <= floor(extract(epoch FROM looked)) THEN 'expired'
                       WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
                       WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
                       ELSE 'the account is ' || coalesce(a.status::text, 'gone')
                   END AS passed
            FROM used AS o
            CROSS JOIN unnest(o.tokens, o.numbers, o.errors) WITH ORDINALITY AS u (id, number,
            errors, at)
            LEFT JOIN here.tokens AS t ON t.id = u.id
            LEFT JOIN here.accounts AS a ON a.id = t.account
        )
        SELECT f.n, f.until, f.single, f.since, t.list
        INTO from_n, from_end, from_alone, paid_since, due
        FROM (SELECT coalesce(array_agg(u.n ORDER BY u.at), '{}') AS n,
                     coalesce(bool_or(u.single), false) AS single,
                     min(u.paid_at) FILTER (WHERE u.valid AND u.paid > 0) AS since,
                     coalesce(array_agg(u.until::int ORDER BY u.at), '{}') AS until
                         FROM used AS u) AS f,
             (SELECT coalesce(array_agg(ROW(0, 0, '0', r.id, r.action, r.account, r.email,
             r.login,
                         r.secret, r.code, r.number, r.errors, r.paid,
                         coalesce(r.passed, d.why),
                         r.passed IS NULL AND d.why IS NOT NULL)::here.mailroom_token
                         ORDER BY r.at, r.place), '{}') AS list
              FROM read AS r,
                   here.mailroom_unsendable(r.action, r.email, r.login, r.secret,
                   r.code) AS d (why)) AS t;
    END IF;
    IF cardinality(from_n) > 0 AND (again IS NOT NULL OR from_alone) THEN
        fewest := 1;
    END IF;
    -- A lower lane goes first if its oldest token has waited for the bound. Times of tokens
    -- are whole seconds, rounded to the nearest. A lane of which none of the tokens looked at
    -- can be sent goes first, too, because one that has aged may stand behind them.
    IF aged THEN
        FOR lane_ IN REVERSE lanes .. 2 LOOP
            IF (SELECT count(*) > 0
                AND coalesce(min(w.created_at) FILTER (WHERE w.passed IS NULL), 0)
                       + 0.5 + ageing_s <= extract(epoch FROM clock_timestamp())
                FROM (SELECT b.created_at, b.passed FROM here.mailroom_walk(q, 1, lane_,
                          floor(extract(epoch FROM looked))::bigint) AS b
                      LIMIT wanted) AS w) THEN
                first_lane := lane_;
            END IF;
        END LOOP;
    END IF;
    IF per_s > 0 AND current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true); -- what is paid stays paid
    END IF;

    -- A take may move the cursor of another lane alone, so with lanes the look is never good.
    IF moves IS DISTINCT FROM cur.n OR cardinality(waits) > 0 OR lanes > 1 THEN
        seen := here.mailroom_examine(q, first_lane, wanted,
            CASE WHEN from_alone THEN 0 ELSE most END, due);
    END IF;
    IF per_s > 0 AND seen.n >= fewest THEN
        paid := (SELECT count(*) FROM unnest(seen.list) AS t WHERE t.passed IS NULL AND t.paid);
        IF seen.n > paid THEN
            SELECT s.granted + paid, nullif(s.wait_ms, 0) INTO granted, wait_ms
            FROM here.mailroom_spend(queue, seen.n - paid, per_s, burst, daily) AS s;
            -- By this clock the budget is kept, however long the rest takes.
            moment := (SELECT b.at FROM here.budgets AS b WHERE b.queue = q);
        END IF;
    END IF;
    taken := CASE WHEN seen.n < fewest THEN 0
                  ELSE least(seen.n, granted) END;
    upto := CASE WHEN taken = seen.n THEN cardinality(seen.list)
                 WHEN taken > 0 THEN here.mailroom_place(seen.list, taken)
                 -- Nothing is taken, but what stands before the first that can be sent is passed.
                 ELSE here.mailroom_place(seen.list, 1) - 1 END;
    every := taken = seen.n AND seen.ended;

    -- Where the take went on to another lane, nothing is left of the lane before.
    IF lanes > 1 THEN
        places := ARRAY(SELECT max(t.ordinality)
            FROM unnest(seen.list[:upto]) WITH ORDINALITY AS t WHERE t.lane > 0 GROUP BY t.lane);
    ELSIF upto > cardinality(due) THEN
        places := ARRAY[upto];
    END IF;
    FOREACH at IN ARRAY coalesce(places, '{}') LOOP
        last := seen.list[at];
        emptied := every OR at < upto;
        IF lanes > 1 THEN
            SELECT c.ctid AS at, c.n, c.seen, c.tick INTO cur FROM here.cursors AS c
            WHERE c.queue = q AND c.lane = last.lane ORDER BY c.n DESC LIMIT 1;
        END IF;
        cur.seen := CASE WHEN emptied THEN seen.tick
                         WHEN last.part = 2 THEN cur.tick ELSE cur.seen END;
        cur.tick := CASE WHEN emptied OR last.part = 2 THEN seen.tick ELSE cur.tick END;
        -- The row's place finds it. To find it by its key, the planner might walk all earlier
        -- versions.
        UPDATE here.cursors AS c SET n = c.n + 1, written = pg_current_xact_id(), seen = cur.seen,
            tick = cur.tick, xid = last.xid, id = last.id
        WHERE c.ctid = cur.at
        RETURNING c.xmin::text::bigint = c.written::text::bigint & 4294967295 INTO whole;
        IF whole IS NOT TRUE THEN
            PERFORM here.mailroom_refuse(
                'mailroom_take was called in a savepoint, or in a block with EXCEPTION');
        END IF;
    END LOOP;

    sendable := seen.list;
    ids := seen.ids;
    IF upto > taken OR taken = 0 OR cardinality(due) > 0 THEN
        SELECT count(*) FILTER (WHERE t.passed = 'expired'), count(*)
            FILTER (WHERE t.passed = 'consumed'),
               count(*) FILTER (WHERE t.dead),
               count(*) FILTER (WHERE NOT t.dead AND t.passed NOT IN ('expired', 'consumed'))
        INTO expired, consumed, errors, others
        FROM unnest(seen.list[:upto]) AS t WHERE t.passed IS NOT NULL;
        INSERT INTO here.dead_letters (token, account, action, reason)
        SELECT t.id, t.account, t.action, t.passed FROM unnest(seen.list[:upto]) AS t WHERE t.dead;
        INSERT INTO here.attempts (token, number, run, outcome, text)
        SELECT t.id, t.number, me, CASE WHEN t.dead THEN 'dead' ELSE 'expired' END, t.passed
        FROM unnest(seen.list[:upto]) AS t WHERE t.passed IS NOT NULL AND answers;
        sendable := ARRAY(SELECT t FROM unnest(seen.list) AS t WHERE t.passed IS NULL);
        SELECT array_agg(t.id), array_agg(t.number), array_agg(t.errors),
               bool_or(t.number > 1 OR t.errors > 0)
        INTO ids, tries, failed, tried
        FROM unnest(sendable[:taken]) AS t;
    END IF;
    -- n tokens of the rows that come first are used up, and so many whole rows. The line goes into
    -- the first of them. What it leaves of a longer one others may take, except where the order of
    -- the rows must stay.
    used := least(upto, cardinality(due));
    gone := 1;
    IF used > 0 THEN
        whole_n := (SELECT count(*) FROM unnest(from_end) AS e (until) WHERE e.until <= used);
        IF taken > 0 AND (whole_n > 0 OR epoch IS NOT NULL OR again IS NOT NULL) THEN
            gone := 2;
            UPDATE here.deliveries AS d
            SET owner = me, due = '-infinity', alone = from_alone, nonce = DEFAULT,
                leased_at = CASE WHEN again IS NULL THEN moment ELSE d.leased_at END,
                paid = CASE WHEN per_s > 0 THEN taken END, -- what is left of it is not paid for
                -- What is paid now makes no older payment last longer.
                paid_at = CASE WHEN per_s > 0 THEN coalesce(paid_since, moment) END,
                tokens = ids || d.tokens[used + 1:],
                numbers = CASE WHEN tried OR d.numbers IS NOT NULL
                    THEN tries || coalesce(d.numbers[used + 1:],
                    array_fill(1, ARRAY[greatest(0, from_end[1] - used)])) END,
                errors = CASE WHEN tried OR d.numbers IS NOT NULL
                    THEN failed || coalesce(d.errors[used + 1:],
                    array_fill(0, ARRAY[greatest(0, from_end[1] - used)])) END
            WHERE d.n = from_n[1]
            RETURNING d.n, d.nonce INTO line_n, line_nonce;
            rest := greatest(0, from_end[1] - used);
        END IF;
        DELETE FROM here.deliveries AS d WHERE d.n = ANY (from_n[gone : whole_n]);
        IF whole_n + 1 >= gone THEN
            cut := used - coalesce(from_end[whole_n], 0);
            UPDATE here.deliveries AS d
            SET tokens = d.tokens[cut + 1:], numbers = d.numbers[cut + 1:],
            errors = d.errors[cut + 1:], paid = d.paid - cut
            WHERE d.n = from_n[whole_n + 1] AND cut > 0;
        END IF;
    END IF;
    IF taken > 0 AND gone = 1 THEN
        INSERT INTO here.deliveries (queue, owner, tokens, numbers, errors, alone, leased_at,
            paid_at, paid)
        VALUES (q, me, ids[:taken], CASE WHEN tried THEN tries END,
            CASE WHEN tried THEN failed END, from_alone, moment,
            CASE WHEN per_s > 0 THEN coalesce(paid_since, moment) END,
            CASE WHEN per_s > 0 THEN taken END)
        RETURNING n, nonce INTO line_n, line_nonce;
    END IF;

    more := CASE WHEN taken > 0 THEN from_alone OR NOT every
                 ELSE seen.n > 0 AND upto > 0 OR seen.n = 0 AND NOT seen.ended END;
    IF due_ms IS DISTINCT FROM 0 THEN
        next_due_ms := (SELECT ceil(extract(epoch FROM d.due - clock_timestamp()) * 1000)
            FROM here.deliveries AS d WHERE d.queue = q AND d.owner = 0 AND d.due > looked
            ORDER BY d.due LIMIT 1);
    END IF;
    alone := from_alone;
    RETURN NEXT;
    RETURN QUERY
    SELECT CASE WHEN taken = 0 THEN 3 WHEN t.action = 'activation' THEN 1 ELSE 2 END,
           line_n, line_nonce, t.id,
           t.number, t.errors, t.email, t.login, t.secret, t.code, NULL::bool, NULL::bigint,
           NULL::bigint,
           NULL::bigint, NULL::bigint, NULL::bigint, NULL::bool, NULL::int
    FROM unnest(sendable) AS t LIMIT CASE WHEN taken > 0 THEN taken ELSE fewest END;
    END;
    END IF;
    -- This comes last of all that is read, so that no line of a queue that was lost is returned.
    IF epoch IS NOT NULL THEN
        IF epoch IS DISTINCT FROM (SELECT j.epoch FROM here.jobs AS j WHERE j.job_type = q) THEN
            RAISE object_in_use USING MESSAGE = format('another collector has the queue %s', queue);
        END IF;
    END IF;
END
$$
$make$);

-- Settles lines: tells what became of them, or of their tokens. README.md has the parameters and
-- outcomes. Returns what was no longer ours, and in doubt what is still there.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_settle_lines(queue text, owner bigint, lines bigint[],
    nonces bigint[],
    outcome text DEFAULT 'written', ends bigint[] DEFAULT NULL, dead_tokens bigint[] DEFAULT NULL,
    dead_reasons text[] DEFAULT NULL, place text DEFAULT NULL, tokens bigint[] DEFAULT NULL,
    numbers int[] DEFAULT NULL, outcomes text[] DEFAULT NULL, texts text[] DEFAULT NULL,
    delays_ms bigint[] DEFAULT NULL, alones bool[] DEFAULT NULL, in_doubt bigint[] DEFAULT NULL)
RETURNS TABLE (kind text, line bigint, nonce bigint, token bigint, secret bytea)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
#variable_conflict use_column
DECLARE
    q here.job_type := queue::here.job_type;
    me bigint := owner;
    parts text[];
    whole bool;                  -- the place was a cursor's, and it went on
    answered bigint[] := tokens; -- by a name that no column has
    rows tid[];                  -- the places of the lines that are ours
    ours bigint[];               -- their n
    our_nonces bigint[];
    leased timestamptz[];        -- when they were taken
    counted bigint[];            -- answered tokens of theirs
    counted_nonces bigint[];
    gone int;                    -- lines of which every token is answered
BEGIN
    IF outcome NOT IN ('written', 'back') THEN
        RAISE invalid_parameter_value
            USING MESSAGE = format('the outcome of a line is %L; allowed is written or back',
        outcome);
    END IF;
    IF in_doubt IS NOT NULL THEN
        RETURN QUERY SELECT 'ours', d.n, d.nonce, NULL::bigint, NULL::bytea
        FROM here.deliveries AS d WHERE d.queue = q AND d.owner = me ORDER BY d.n LIMIT 1000;
        RETURN QUERY SELECT 'waits', NULL::bigint, NULL::bigint, t.id, t.secret
        FROM unnest(in_doubt) AS doubtful (id)
        JOIN here.tokens AS t USING (id)
        CROSS JOIN generate_series(1, cardinality(enum_range(NULL::here.token_action))) AS l (lane)
        CROSS JOIN LATERAL (SELECT * FROM here.cursors AS x WHERE x.queue = q AND x.lane = l.lane
                            ORDER BY x.n DESC LIMIT 1) AS c
        WHERE t.action = ANY (c.actions)
          AND (NOT (pg_visible_in_snapshot(t.xid, c.seen)
                    OR pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
               OR t.id IN (SELECT unnest(d.tokens) -- the server makes one hash table of these ids
                           FROM here.deliveries AS d WHERE d.queue = q AND d.owner = me));
        RETURN;
    END IF;

    IF place IS NOT NULL THEN
        parts := string_to_array(place, ';');
        UPDATE here.cursors AS c
        SET n = c.n + 1, written = pg_current_xact_id(), seen = parts[2]::pg_snapshot,
            tick = parts[3]::pg_snapshot, xid = parts[4]::xid8, id = parts[5]::bigint
        WHERE c.queue = q AND c.lane = 1 AND c.n = parts[1]::bigint
        RETURNING c.xmin::text::bigint = c.written::text::bigint & 4294967295 INTO whole;
        IF NOT FOUND THEN
            kind := 'lost';
            RETURN NEXT;
        ELSIF NOT whole THEN
            PERFORM here.mailroom_refuse(
                'mailroom_settle_lines was called in a savepoint, or in a block with EXCEPTION');
        END IF;
        IF cardinality(lines) = 0 AND dead_tokens IS NULL THEN
            RETURN;
        END IF;
    END IF;

    -- Whoever frees the lines of the dead waits here, or we for them. From here on the rows are
    -- found by their places: a planner that takes the table for empty thinks any index as good,
    -- and walks all that an old snapshot keeps. OFFSET 0 leaves it the index on n.
    IF outcome = 'written' AND answered IS NULL AND dead_tokens IS NULL AND ends IS NULL THEN
        -- The usual case, in one statement.
        WITH gone AS (
            DELETE FROM here.deliveries AS x
            WHERE x.ctid = ANY (ARRAY(SELECT o.ctid FROM here.deliveries AS o
                    WHERE o.n = ANY (lines) ORDER BY o.n FOR UPDATE))
              AND x.nonce = ANY (nonces) AND x.owner IS NOT DISTINCT FROM me
              AND x.queue IS NOT DISTINCT FROM q
            RETURNING x.n
        )
        SELECT array_agg(g.n) INTO ours FROM gone AS g;
        IF cardinality(ours) = cardinality(lines) THEN
            RETURN;
        END IF;
    ELSIF lines IS NOT NULL THEN
        SELECT array_agg(x.ctid), array_agg(x.n), array_agg(x.nonce), array_agg(x.leased_at)
        INTO rows, ours, our_nonces, leased
        FROM (SELECT x.ctid, x.* FROM here.deliveries AS x WHERE x.n = ANY (lines)
            ORDER BY x.n FOR UPDATE OFFSET 0) AS x
        WHERE x.queue = q AND x.owner = me
            AND (x.n, x.nonce) IN (SELECT * FROM unnest(lines, nonces));
    ELSIF outcome = 'back' THEN
        rows := ARRAY(SELECT x.ctid FROM here.deliveries AS x WHERE x.queue = q
            AND x.owner = me FOR UPDATE);
    END IF;

    IF answered IS NOT NULL THEN
        WITH recorded AS (
            INSERT INTO here.attempts AS b (token, number, run, leased, outcome, text, nonce)
            SELECT a.t, a.number, me, leased[array_position(our_nonces, a.nonce)], a.what, a.why,
                   a.nonce
            FROM unnest(nonces, answered, numbers, outcomes, texts) AS a (nonce, t, number, what,
                why)
            -- IS TRUE keeps the server from a join here: it makes one hash table.
            WHERE a.what <> 'late' AND ((a.nonce, a.t) IN (
                SELECT x.nonce, u.t FROM here.deliveries AS x, unnest(x.tokens) AS u (t)
                WHERE x.ctid = ANY (rows))) IS TRUE
            RETURNING b.nonce, b.token
        )
        SELECT array_agg(r.nonce), array_agg(r.token) INTO counted_nonces, counted
        FROM recorded AS r;
        IF coalesce(cardinality(counted), 0) < cardinality(answered) THEN
            -- An answer that we have counted already, and whose confirmation got lost, is not late.
            RETURN QUERY
            WITH late AS MATERIALIZED (
                SELECT a.* FROM unnest(lines, nonces, answered, numbers, outcomes, texts)
                    AS a (line, nonce, t, number, what, why)
                WHERE a.what = 'late' OR NOT EXISTS (SELECT FROM here.attempts AS b
                    WHERE b.token = a.t AND b.nonce = a.nonce AND b.outcome = a.what)
            ), recorded AS (
                INSERT INTO here.attempts (token, number, run, outcome, text, nonce)
                SELECT l.t, l.number, me, 'late', l.why, l.nonce FROM late AS l
                WHERE NOT EXISTS (SELECT FROM here.attempts AS b
                    WHERE b.token = l.t AND b.nonce = l.nonce AND b.outcome = 'late')
            )
            SELECT 'lost', l.line, l.nonce, l.t, NULL::bytea FROM late AS l;
        END IF;
        IF counted IS NULL THEN
            RETURN;
        END IF;
        IF 'dead' = ANY (outcomes) THEN
            INSERT INTO here.dead_letters (token, account, action, reason)
            SELECT t.id, t.account, t.action, a.why
            FROM unnest(nonces, answered, outcomes, texts) AS a (nonce, t, what, why)
            JOIN here.tokens AS t ON t.id = a.t
            WHERE a.what = 'dead'
                AND ((a.nonce, a.t) IN (SELECT * FROM unnest(counted_nonces, counted))) IS TRUE;
        END IF;
        IF outcomes && ARRAY['transient', 'returned'] THEN
            INSERT INTO here.deliveries (queue, owner, tokens, numbers, errors, alone, due)
            SELECT q, 0, ARRAY[b.t], ARRAY[max(b.number) + 1],
                   ARRAY[max(b.errors) + (max(b.what) = 'transient')::int],
                   coalesce(bool_or(b.alone), false),
                   clock_timestamp() + coalesce(max(b.delay), 0) * interval '1 ms'
            -- Grouping, and not a join, keeps this in proportion for the largest lines.
            FROM (SELECT x.n, x.nonce, u.t, u.at, coalesce(u.number, 1), coalesce(u.errors, 0),
                         NULL, NULL::bigint, NULL::bool
                  FROM here.deliveries AS x,
                       unnest(x.tokens, x.numbers, x.errors) WITH ORDINALITY AS u (t, number,
                           errors, at)
                  WHERE x.ctid = ANY (rows)
                  UNION ALL
                  SELECT NULL, a.nonce, a.t, NULL, NULL, NULL, a.what, a.delay, a.alone
                  FROM unnest(nonces, answered, outcomes, delays_ms, alones)
                      AS a (nonce, t, what, delay, alone)
                  WHERE a.what IN ('transient', 'returned')
                 ) AS b (line, nonce, t, at, number, errors, what, delay, alone)
            GROUP BY b.nonce, b.t HAVING count(b.at) > 0 AND count(b.what) > 0
            ORDER BY max(b.line), max(b.at);
            INSERT INTO here.owners (queue, owner) VALUES (q, 0) ON CONFLICT DO NOTHING;
        END IF;
        DELETE FROM here.deliveries AS x WHERE x.ctid = ANY (rows)
            AND (SELECT bool_and((x.nonce, u.t) IN (SELECT * FROM unnest(counted_nonces, counted)))
                 FROM unnest(x.tokens) AS u (t));
        GET DIAGNOSTICS gone = ROW_COUNT;
        IF gone < cardinality(rows) THEN
            -- Where a row has more tokens than its line had, those were not paid for.
            UPDATE here.deliveries AS x SET paid = NULL, (tokens, numbers, errors) = (
                SELECT array_agg(u.t), array_agg(u.number) FILTER (WHERE x.numbers IS NOT NULL),
                       array_agg(u.errors) FILTER (WHERE x.numbers IS NOT NULL)
                FROM unnest(x.tokens, x.numbers, x.errors) AS u (t, number, errors)
                WHERE (x.nonce, u.t) NOT IN (SELECT * FROM unnest(counted_nonces, counted)))
            WHERE x.ctid = ANY (rows) AND x.nonce = ANY (counted_nonces);
        END IF;
        RETURN;
    END IF;

    IF cardinality(lines) > coalesce(cardinality(ours), 0) THEN
        RETURN QUERY SELECT 'lost', l.n, l.nonce, NULL::bigint, NULL::bytea
        FROM unnest(lines, nonces) AS l (n, nonce) WHERE NOT l.n = ANY (coalesce(ours, '{}'));
    END IF;
    IF outcome = 'back' THEN
        UPDATE here.deliveries AS x SET owner = 0, due = '-infinity' WHERE x.ctid = ANY (rows);
        INSERT INTO here.owners (queue, owner) VALUES (q, 0)
        ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1;
        RETURN;
    END IF;
    IF cardinality(dead_tokens) > 0 THEN
        INSERT INTO here.dead_letters (token, account, action, reason)
        SELECT t.id, t.account, t.action, l.reason
        FROM unnest(dead_tokens, dead_reasons) AS l (token, reason)
            JOIN here.tokens AS t ON t.id = l.token
        WHERE whole OR (l.token IN (SELECT unnest(x.tokens) FROM here.deliveries AS x
            WHERE x.ctid = ANY (rows))) IS TRUE;
    END IF;
    -- Of a row that others may not have, only what was written goes. It gets another place by that.
    IF cardinality(array_remove(ends, NULL)) > 0 THEN
        UPDATE here.deliveries AS x
            SET tokens = x.tokens[l.until + 1:], numbers = x.numbers[l.until + 1:],
            errors = x.errors[l.until + 1:], paid = x.paid - l.until
        FROM (SELECT x.ctid AS row,
        nullif(array_position(x.tokens, l.last), cardinality(x.tokens)) AS until
              FROM here.deliveries AS x JOIN unnest(lines, ends) AS l (n, last) ON l.n = x.n
              WHERE x.ctid = ANY (rows)) AS l
        WHERE x.ctid = l.row AND l.until IS NOT NULL;
    END IF;
    IF rows IS NOT NULL THEN
        DELETE FROM here.deliveries AS x WHERE x.ctid = ANY (rows);
    END IF;
END
$$
$make$);

-- The advisory locks of other sessions in this database.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_locks() RETURNS TABLE (key bigint, mode text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.classid::bigint << 32 | l.objid::bigint, l.mode
    FROM pg_locks AS l
    JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid <> pg_backend_pid()
$$
$make$);

-- Makes nobody's what a collector has in hand. Where there are answers, its lines may be out, so
-- the attempts count. Returns how many tokens these are.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_release(q here.job_type, gone bigint, mode text,
    how text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    total bigint;
BEGIN
    IF mode = 'leased' THEN
        INSERT INTO here.attempts (token, number, run, leased, outcome, text, nonce)
        SELECT u.t, coalesce(d.numbers[u.at], 1), gone, d.leased_at, 'lost', how, d.nonce
        FROM here.deliveries AS d, unnest(d.tokens) WITH ORDINALITY AS u (t, at)
        WHERE d.queue = q AND d.owner = gone;
    END IF;
    WITH back AS (
        -- Its line may be out already, so what it paid does not count for the next one.
        UPDATE here.deliveries AS d SET owner = 0, due = '-infinity', paid_at = NULL,
            numbers = CASE WHEN mode = 'leased' THEN ARRAY(SELECT coalesce(d.numbers[u.at], 1) + 1
                FROM unnest(d.tokens) WITH ORDINALITY AS u (t, at) ORDER BY u.at)
                    ELSE d.numbers END,
            errors = CASE WHEN mode = 'leased' AND d.errors IS NULL
                THEN array_fill(0, ARRAY[cardinality(d.tokens)]) ELSE d.errors END
        WHERE d.queue = q AND d.owner = gone
        RETURNING cardinality(d.tokens) AS n
    )
    SELECT coalesce(sum(b.n), 0) INTO total FROM back AS b;
    IF total > 0 THEN
        INSERT INTO here.owners (queue, owner) VALUES (q, 0)
        ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1;
    END IF;
    RETURN total;
END
$$
$make$);

-- Joins the collectors of a queue, or claims it where one works at a time; then keeps our lease,
-- lists the others, and frees what those have in hand that are gone. README.md has the parameters.
--
-- Every collector shares the lock 'queue', which keeps an administrator's commands out. Its own
-- number's lock shows that it lives; a collector that works alone has the lock of its epoch, too.
-- One that takes over needs the lock of the next epoch, so it does not wait for a holder that
-- hangs. All locks are taken before the rows are read that they stand for.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_peers(queue text, owner bigint, mode text, holder text,
    epoch bigint DEFAULT NULL,
    renew bool DEFAULT true, "over" text DEFAULT NULL, hung bigint DEFAULT NULL,
    settle bool DEFAULT true,
    gone bigint[] DEFAULT '{}', counters bigint[] DEFAULT '{}', hangs bool[] DEFAULT '{}',
    leave text DEFAULT NULL, host text DEFAULT NULL, version text DEFAULT NULL,
    settings text DEFAULT NULL,
    written bigint DEFAULT NULL)
RETURNS TABLE (state text, epoch_ bigint, holder_ text, progress bigint, waits bool, lanes text,
    adopted bigint,
    other bigint, renewed bigint, alive bool, busy bool)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
#variable_conflict use_column
DECLARE
    me bigint := owner;
    alone bool := mode = 'cursor'; -- only one may collect
    my_epoch bigint := epoch;
    job here.jobs;
    held bool;
    q here.job_type;
    g record;
BEGIN
    SELECT * INTO job FROM here.jobs AS j WHERE j.job_type::text = queue;
    IF NOT FOUND THEN
        state := 'unknown';
        RETURN NEXT;
        RETURN;
    END IF;
    q := job.job_type;
    IF leave IS NOT NULL THEN
        PERFORM here.mailroom_release(q, me, mode, leave);
        DELETE FROM here.owners AS o WHERE o.queue = q AND o.owner = me;
        UPDATE here.jobs AS j SET holder = NULL, last_seq = greatest(j.last_seq, (
            SELECT c.id FROM here.cursors AS c WHERE c.queue = q AND c.lane = 1
                ORDER BY c.n DESC LIMIT 1))
        WHERE j.job_type = q AND j.holder = mailroom_peers.holder;
        IF mode = 'leased' THEN
            INSERT INTO here.runs (run, event, queue, how, tokens) VALUES (me, 'ended', q, leave,
            mailroom_peers.written);
        END IF;
        state := 'left';
        RETURN NEXT;
        RETURN;
    END IF;

    adopted := 0;
    IF my_epoch IS NULL THEN
        -- For the session, not for each function: to set them takes as long as to read a token.
        -- Every read is then the same walk along an index, whatever the statistics say.
        PERFORM set_config(p.name, p.value, false)
        FROM (VALUES ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
            ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('enable_material', 'off'),
            ('enable_memoize', 'off'), ('jit', 'off'), ('plan_cache_mode', 'force_generic_plan'))
            AS p (name, value)
        JOIN pg_settings AS s USING (name); -- an older server lacks some
        IF job.mode IS NOT NULL AND job.mode <> mode THEN
            state := job.mode;
            RETURN NEXT;
            RETURN;
        END IF;
        held := EXISTS (SELECT FROM here.mailroom_locks() AS l
                        WHERE l.key = here.mailroom_lock_key(queue, job.epoch::text));
        IF alone AND NOT coalesce(job.holder = holder OR job.epoch = hung
                          OR NOT held AND (job.holder IS NULL OR job.holder = "over"), false)
           OR NOT pg_try_advisory_lock_shared(here.mailroom_lock_key(queue, 'queue'))
           OR NOT pg_try_advisory_lock(me)
           OR alone AND NOT pg_try_advisory_lock(here.mailroom_lock_key(queue,
           (job.epoch + 1)::text)) THEN
            state := CASE WHEN alone AND NOT held THEN 'free' ELSE 'held' END;
        ELSIF here.mailroom_moved(queue) AND NOT settle THEN
            state := CASE WHEN job.mode IS NULL THEN 'new' ELSE 'moved' END;
        ELSE
            IF here.mailroom_moved(queue) THEN
                PERFORM here.mailroom_settle(queue, mode);
            END IF;
            SELECT * INTO job FROM here.jobs AS j WHERE j.job_type = q FOR UPDATE;
            IF job.mode <> mode THEN
                state := job.mode;
                RETURN NEXT;
                RETURN;
            END IF;
            INSERT INTO here.owners (queue, owner) VALUES (q, me)
            ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1;
            IF alone THEN
                -- The claim. A new epoch and a new version of the first lane's cursor fence every
                -- earlier session. What others have taken and not settled becomes ours, with its n.
                PERFORM FROM here.cursors AS c WHERE c.queue = q AND c.lane = 1
                    ORDER BY c.n DESC LIMIT 1 FOR UPDATE;
                job.epoch := job.epoch + 1;
                IF NOT pg_try_advisory_lock(here.mailroom_lock_key(queue, job.epoch::text)) THEN
                    state := 'held';
                    RETURN NEXT;
                    RETURN;
                END IF;
                UPDATE here.jobs AS j SET epoch = job.epoch, holder = mailroom_peers.holder,
                    renewed = j.renewed + 1, last_seq = greatest(j.last_seq, (
                        SELECT c.id FROM here.cursors AS c WHERE c.queue = q AND c.lane = 1
                            ORDER BY c.n DESC LIMIT 1))
                WHERE j.job_type = q;
                UPDATE here.cursors AS c SET n = c.n + 1, written = pg_current_xact_id()
                WHERE c.queue = q AND c.lane = 1
                  AND c.n = (SELECT x.n FROM here.cursors AS x WHERE x.queue = q AND x.lane = 1
                             ORDER BY x.n DESC LIMIT 1);
                WITH ours AS (
                    UPDATE here.deliveries AS d SET owner = me, due = '-infinity', paid_at = NULL
                    WHERE d.queue = q AND d.owner <> me RETURNING cardinality(d.tokens) AS n
                )
                SELECT coalesce(sum(o.n), 0) INTO adopted FROM ours AS o;
                DELETE FROM here.owners AS o WHERE o.queue = q AND o.owner <> me;
            END IF;
            IF host IS NOT NULL AND mode = 'leased' THEN
                INSERT INTO here.runs (run, event, queue, host, version, settings)
                VALUES (me, 'started', q, mailroom_peers.host, mailroom_peers.version,
                mailroom_peers.settings);
            END IF;
            state := 'ours';
            my_epoch := job.epoch;
        END IF;
    ELSE
        state := 'ours';
        IF job.epoch <> my_epoch THEN
            state := 'lost';
        ELSIF renew AND alone THEN
            UPDATE here.jobs AS j SET renewed = j.renewed + 1 WHERE j.job_type = q
                AND j.epoch = my_epoch;
        ELSIF renew THEN
            UPDATE here.owners AS o SET renewed = o.renewed + 1 WHERE o.queue = q AND o.owner = me;
        END IF;
        -- Frees what the gone have in hand. One that has renewed since is kept, and one that was
        -- gone and has come back, too. A row stays as long as its session lives, because an owner
        -- without a row is found by nobody.
        FOR g IN SELECT * FROM unnest(gone, counters, hangs) AS g (owner, counter, hangs)
            WHERE g.owner NOT IN (0, me) LOOP
            CONTINUE WHEN NOT g.hangs AND NOT pg_try_advisory_xact_lock_shared(g.owner);
            PERFORM FROM here.owners AS o WHERE o.queue = q AND o.owner = g.owner
                AND o.renewed = g.counter FOR UPDATE;
            CONTINUE WHEN NOT FOUND;
            adopted := adopted + here.mailroom_release(q, g.owner, mode,
                CASE WHEN g.hangs THEN 'it does not renew its lease'
                    ELSE 'its session has ended' END);
            IF NOT g.hangs THEN
                DELETE FROM here.owners AS o WHERE o.queue = q AND o.owner = g.owner;
                IF mode = 'leased' THEN
                    INSERT INTO here.runs (run, event, queue, how) VALUES (g.owner, 'ended', q,
                    'its session has ended');
                END IF;
            END IF;
        END LOOP;
    END IF;

    SELECT j.epoch, coalesce(j.holder, ''), j.renewed + (
               SELECT sum(c.n)
                   FROM generate_series(1,
               cardinality(enum_range(NULL::here.token_action))) AS l (lane),
                   LATERAL (SELECT x.n FROM here.cursors AS x WHERE x.queue = q AND x.lane = l.lane
                            ORDER BY x.n DESC LIMIT 1) AS c)
    INTO epoch_, holder_, progress
    FROM here.jobs AS j WHERE j.job_type = q;
    waits := EXISTS (SELECT FROM here.deliveries AS d WHERE d.queue = q AND d.owner = 0
        AND d.due <= clock_timestamp());
    -- A statement of its own: the server locks all tables of a statement, whatever it reads, and
    -- while somebody else has locked accounts, a lease must be renewed all the same.
    IF state <> 'ours' AND NOT waits THEN
        waits := EXISTS (SELECT FROM here.mailroom_walk(q, 1, NULL, 0))
            OR EXISTS (SELECT FROM here.mailroom_locks() AS l
                JOIN here.owners AS o ON o.owner = l.key
                       WHERE o.queue = q AND l.mode = 'ShareLock');
    END IF;
    lanes := (SELECT string_agg(array_to_string(c.actions, '+'), ',' ORDER BY l.lane)
              FROM generate_series(1, cardinality(enum_range(NULL::here.token_action))) AS l (lane),
                   LATERAL (SELECT x.actions FROM here.cursors AS x WHERE x.queue = q
                       AND x.lane = l.lane
                            ORDER BY x.n DESC LIMIT 1) AS c);
    RETURN NEXT;
    IF state <> 'ours' OR alone THEN
        RETURN;
    END IF;
    -- When there are many, those that are gone come first, and then those whose numbers follow
    -- ours, as in a ring. So each living owner is watched by the same few others all the time.
    RETURN QUERY
    SELECT 'other', NULL::bigint, NULL::text, NULL::bigint, NULL::bool, NULL::text, NULL::bigint,
           o.owner, o.renewed, l.alive, l.busy
    FROM here.owners AS o
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(k.mode = 'ExclusiveLock'), false) AS alive,
               coalesce(bool_or(k.mode = 'ShareLock'), false) AS busy
        FROM here.mailroom_locks() AS k WHERE k.key = o.owner) AS l
    WHERE o.queue = q AND o.owner NOT IN (0, me)
    ORDER BY l.alive, o.owner < me, o.owner
    LIMIT 16;
END
$$
$make$);

-- TRUNCATE … RESTART IDENTITY makes ids come again, so no row may name tokens that are gone.
CALL pg_temp.make($make$
CREATE FUNCTION here.tokens_truncated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM here.deliveries;
    RETURN NULL;
END
$$
$make$);
CREATE TRIGGER tokens_truncated AFTER TRUNCATE ON tokens EXECUTE FUNCTION tokens_truncated();

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = current_schema()::regnamespace
        AND p.proname IN ('mailroom_protocol', 'mailroom_refuse', 'mailroom_unsendable',
            'mailroom_suspect', 'mailroom_now', 'mailroom_ended', 'mailroom_behind',
            'mailroom_walk', 'mailroom_place', 'mailroom_examine', 'mailroom_read', 'mailroom_take',
            'mailroom_settle_lines', 'mailroom_locks', 'mailroom_release', 'mailroom_peers',
            'tokens_truncated')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
        IF f::text ~ 'mailroom_(protocol|read|take|settle_lines|peers)\(' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mailroom_collector', f);
        END IF;
    END LOOP;
END
$$;

COMMIT;
