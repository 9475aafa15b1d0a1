CREATE TABLE messages (
    id int PRIMARY KEY,
    payload text NOT NULL,
    status text NOT NULL DEFAULT 'scheduled',
    changed_at timestamptz NOT NULL DEFAULT now(),
    attempts int NOT NULL DEFAULT 0
);
CREATE INDEX ON messages (status, changed_at) WHERE status <> 'sent';
