-- Gives back what was claimed and not written. $1 our number
UPDATE tokens SET claimed_by = NULL WHERE processed_at IS NULL AND claimed_by = $1::bigint
