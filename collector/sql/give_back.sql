-- Gives back the tokens that we have taken behind a certain one, for any collector to take: the
-- rest of the delivery that holds the token, and all later deliveries. When the first delivery does
-- not hold it, all of that one is given back, too.
--
-- $1 queue | $2 our number | $3 n of the first delivery | $4 the token in it
WITH last AS MATERIALIZED (
    SELECT tokens, array_position(tokens, $4::bigint) AS kept
    FROM deliveries
    WHERE queue = $1::job_type AND owner = $2::bigint AND n = $3::bigint
    FOR UPDATE
), part AS (
    UPDATE deliveries AS d
    SET tokens = last.tokens[:kept]
    FROM last
    WHERE d.queue = $1::job_type AND d.owner = $2::bigint AND d.n = $3::bigint
      AND kept < cardinality(last.tokens)
), rest AS (
    INSERT INTO deliveries (queue, owner, tokens)
    SELECT $1::job_type, 0, tokens[kept + 1:]
    FROM last
    WHERE kept < cardinality(tokens)
    RETURNING queue
), back AS (
    UPDATE deliveries
    SET owner = 0
    WHERE queue = $1::job_type AND owner = $2::bigint AND n >= $3::bigint
      AND (n > $3::bigint OR (SELECT kept IS NULL FROM last))
    RETURNING queue
), nobody AS (
    INSERT INTO owners (queue, owner)
    SELECT queue, 0 FROM rest
    UNION
    SELECT queue, 0 FROM back
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1
)
SELECT pg_advisory_unlock_shared($2::bigint)
WHERE EXISTS (SELECT FROM back) AND NOT EXISTS (SELECT FROM last WHERE kept IS NOT NULL)
