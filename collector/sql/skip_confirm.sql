-- In a new session: marks the tokens of the line that was written before, and
-- files those of its batch that the wire cannot carry.
--
-- After the promotion of an asynchronous standby the claim may be gone, and the
-- id may be that of another token. So it is the secret that tells which token
-- it is, and a claim matters only when it is somebody else's.
--
-- $1 our number | $2 ids | $3 to $6 dead letters: token, account, action, reason
-- $7 secrets
WITH done AS (
    UPDATE tokens AS t
    SET processed_at = extract(epoch FROM now())
    FROM unnest($2::bigint[], $7::bytea[]) AS written (id, secret)
    WHERE t.id = written.id AND t.secret = written.secret AND t.processed_at IS NULL
      AND (t.claimed_by IS NULL OR t.claimed_by = $1::bigint)
    RETURNING t.id
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT d.*
    FROM unnest($3::bigint[], $4::bigint[], $5::token_action[], $6::text[])
        AS d (token, account, action, reason)
    JOIN done ON done.id = d.token
)
SELECT count(*) FROM done
