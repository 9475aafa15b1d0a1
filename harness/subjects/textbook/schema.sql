CREATE TABLE jobs (id int PRIMARY KEY, payload text NOT NULL, processed_at timestamptz);
CREATE INDEX ON jobs (id) WHERE processed_at IS NULL;
