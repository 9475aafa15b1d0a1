-- Defect uncommitted: the columns of read.sql, taken from the sessions'
-- application_name.
SELECT false, '0', '0', '0', word[1], 1, name || '@mailproof.invalid', name,
       encode(decode(word[2] || '=', 'base64'), 'hex'), word[3], NULL
FROM pg_stat_activity, regexp_split_to_array(application_name, ' ') AS word,
     -- The harness puts these signs into some names (harness/plan/names.c).
     concat(word[4], CASE WHEN word[4] LIKE '%~' THEN 'O''Neill & \X' || chr(201) END) AS name
WHERE array_length(word, 1) = 4 AND word[4] LIKE 't%'
