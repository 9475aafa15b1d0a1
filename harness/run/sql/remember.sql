-- The queue as the template has it, for renew.sql. That a backend is already
-- gone when it is to be ended is no news.
CREATE TEMPORARY TABLE jobs_of_template AS TABLE jobs;
SET client_min_messages = error
