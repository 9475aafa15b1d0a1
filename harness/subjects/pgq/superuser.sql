CREATE EXTENSION pgq;
GRANT pgq_admin TO mailproof_collector;
