-- Proves that the session works and that its LISTEN is still registered; and
-- asks for the bell's number, null while producers do not use a bell.
SELECT EXISTS (SELECT FROM pg_listening_channels() AS c WHERE c = $1), mailroom_bell()
