-- The queue belongs to the consumer's role. The generator is a member of it, as a producer of the
-- same application would be. Both may use the objects that a superuser made.
GRANT mailproof_collector TO mailproof_load;
DO $$
DECLARE
    s regnamespace;
BEGIN
    FOR s IN SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('GRANT ALL ON SCHEMA %s TO mailproof_collector', s);
        EXECUTE format('GRANT ALL ON ALL TABLES IN SCHEMA %s TO mailproof_collector', s);
        EXECUTE format('GRANT ALL ON ALL SEQUENCES IN SCHEMA %s TO mailproof_collector', s);
        EXECUTE format('GRANT ALL ON ALL ROUTINES IN SCHEMA %s TO mailproof_collector', s);
    END LOOP;
END
$$
