-- Proves that the session works and that its LISTEN is still registered.
SELECT EXISTS (SELECT FROM pg_listening_channels() AS c WHERE c = $1)
