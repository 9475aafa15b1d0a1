-- Who holds the horizon, and for how many seconds.
SELECT CASE
           WHEN prepared IS NOT NULL
               THEN format('the prepared transaction ''%s'' of database %s', prepared, database)
           ELSE format('process %s (%s) in database %s', pid,
                       coalesce(nullif(application, ''), 'no application name'), database)
       END AS holder,
       round(extract(epoch FROM now() - since))::bigint AS age
FROM mailroom_horizon_holder()
WHERE pid IS NOT NULL OR prepared IS NOT NULL
