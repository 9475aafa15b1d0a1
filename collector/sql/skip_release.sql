-- Gives back what this collector has claimed and not written.
UPDATE tokens
SET claimed_by = NULL
WHERE processed_at IS NULL AND claimed_by = $1::bigint
