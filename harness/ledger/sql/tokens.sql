-- Every token as the collector had to write it. `action` has the numbers of the line: 1
-- activation, 2 password_recovery. The last column has the bits of enum token_row.
SELECT a.login,
       coalesce(t.code, ''),
       CASE t.action WHEN 'activation' THEN 1 ELSE 2 END,
       a.email,
       t.secret,
       least(t.expires_at - $1::bigint, 2147483647)::int,
       CASE a.status WHEN 'active' THEN 1 WHEN 'suspended' THEN 2 ELSE 0 END
           + 4 * (t.consumed_at IS NOT NULL)::int
           + 8 * (a.status_changed_at IS NOT NULL)::int
           + 16 * (a.activated_at IS NOT NULL)::int
           + 32 * (a.suspended_at IS NOT NULL)::int
           + 64 * (a.unsuspended_at IS NOT NULL)::int
           + CASE WHEN t.expires_at < t.created_at THEN 128
                  WHEN t.expires_at - t.created_at BETWEEN 899 AND 901 THEN 0
                  ELSE 256 END
           + 512 * (t.action <> 'activation')::int
FROM tokens t JOIN accounts a ON a.id = t.account
