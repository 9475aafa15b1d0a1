-- Marks the tokens of a line that was written, where they are still claimed by
-- us, and files those that the wire cannot carry.
--
-- $1 our number | $2 ids | $3 to $6 dead letters: token, account, action, reason
WITH done AS (
    UPDATE tokens
    SET processed_at = extract(epoch FROM now())
    WHERE id = ANY ($2::bigint[]) AND claimed_by = $1::bigint AND processed_at IS NULL
    RETURNING id
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT d.*
    FROM unnest($3::bigint[], $4::bigint[], $5::token_action[], $6::text[])
        AS d (token, account, action, reason)
    JOIN done ON done.id = d.token
)
SELECT count(*) FROM done
