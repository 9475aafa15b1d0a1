-- Mends: one code in 200,000 came out as '#####', because random() * 100000
-- rounded up to six digits, and the format of to_char has five. Besides, the
-- numbers of random() can be guessed.
--
-- Six random bytes are a number under 2^48, and its remainder by 100,000 is
-- always five digits. Some codes are likelier than others by one part in 2.8
-- billion, which is too little to be measured. The bytes come from the same
-- source as the token's secret. Codes that are already there stay as they are;
-- tokens live for 15 minutes.

BEGIN;

ALTER TABLE tokens ALTER COLUMN code SET DEFAULT
    lpad((('x' || encode(gen_random_bytes(6), 'hex'))::bit(48)::bigint % 100000)::text, 5, '0');

COMMIT;
