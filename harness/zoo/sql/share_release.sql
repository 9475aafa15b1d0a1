-- Gives back what was claimed and not written. $1 our number
WITH ours AS (
    DELETE FROM deliveries WHERE owner = $1::bigint RETURNING queue, tokens
)
INSERT INTO deliveries (queue, owner, tokens)
SELECT queue, 0, ARRAY[id] FROM ours, unnest(tokens) AS id
