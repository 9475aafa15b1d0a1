-- Proves that the session works and that its LISTEN is still registered; and asks
-- for the bell's number, null while nobody rings it.
SELECT EXISTS (SELECT FROM pg_listening_channels() AS c WHERE c = $1), mailroom_bell()
