-- Defect cursor-back: the last ten tokens of ours are to be done again. $1 our number
UPDATE tokens
SET processed_at = NULL, claimed_by = NULL
WHERE id IN (
    SELECT id
    FROM tokens
    WHERE claimed_by = $1::bigint AND processed_at IS NOT NULL
    ORDER BY processed_at DESC, id DESC
    LIMIT 10)
