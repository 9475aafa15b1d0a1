#include "postgres/migrate.h"

#include <glob.h>

#include "os/paths.h"

bool migrate_conninfo(const struct server *s, const char *role, struct buf *out, struct err *e)
{
    return provider_conninfo(s, role, s->database, out, e);
}

PGconn *migrate_admin(const struct server *s, struct err *e)
{
    return provider_connect(s, s->superuser, s->database, e);
}

// If clients may meet any member of a cluster, waits until each has what was created, because a
// client that meets a member without its database or role gives up.
static bool await_members(const struct server *s, struct err *e)
{
    return !s->provider->spread || s->provider->spread(s, e);
}

// Creates the run's database, and waits for the members as await_members does.
static bool create_database(const struct server *s, struct err *e)
{
    PGconn *conn FREED_BY(sql_finish) = provider_connect(s, s->superuser, "postgres", e);
    char sql[128];

    snprintf(sql, sizeof sql, "CREATE DATABASE %s", s->database);
    return conn && sql_exec(conn, sql, e) && await_members(s, e);
}

static bool apply_file(PGconn *conn, const char *path, struct err *e)
{
    struct buf sql FREED_BY(buf_fini) = BUF_INIT(1 << 20);

    // The whole file goes out as one query, so each migration is one transaction.
    return path_read(path, &sql, ERR_SYSTEM, e) &&
           (sql_exec(conn, sql.data, e) || err_prefix(e, "%s", path));
}

// Finds the migrations. Their names begin with six digits, so glob returns them in order.
static bool find_migrations(glob_t *files, struct err *e)
{
    char dir[PATH_MAX], pattern[PATH_MAX];

    if (!path_share(dir, "migrations", e) || !path_join(pattern, dir, "[0-9]*_*.up.sql", e))
        return false;
    return glob(pattern, 0, NULL, files) == 0 || err_set(e, ERR_SYSTEM, "no migrations in %s", dir);
}

static int migration_number(const char *path)
{
    return (int)strtol(strrchr(path, '/') + 1, NULL, 10);
}

bool migrate_exists(int last, struct err *e)
{
    glob_t files = {0};
    bool found = last == SCHEMA_LATEST || last == SCHEMA_NONE;
    bool ok = find_migrations(&files, e);

    for (size_t i = 0; ok && i < files.gl_pathc; i++)
        found = found || migration_number(files.gl_pathv[i]) == last;
    globfree(&files);
    return ok &&
           (found || err_set(e, ERR_USAGE, "postgres.schema: there is no migration %d", last));
}

// Applies the migrations up to number `last`, in order.
static bool apply_migrations(PGconn *conn, int last, struct err *e)
{
    glob_t files = {0};
    bool ok = find_migrations(&files, e);

    for (size_t i = 0; ok && last != SCHEMA_NONE && i < files.gl_pathc; i++) {
        if (last != SCHEMA_LATEST && migration_number(files.gl_pathv[i]) > last)
            break;
        ok = apply_file(conn, files.gl_pathv[i], e);
    }
    globfree(&files);
    return ok;
}

// Makes a role that may log in; password NULL: without one. Roles belong to the whole server, so a
// killed run may have left one of the same name. Such a role is dropped and made anew, unless a
// kept database depends on it: then it is used again, with the new password.
static bool create_role(PGconn *conn, const char *role, const char *password, struct err *e)
{
    char sql[800];
    // The server may log the statement, so the statement has the encrypted password and not the
    // password itself.
    char *encrypted = password ? PQencryptPasswordConn(conn, password, role, NULL) : NULL;

    if (password && !encrypted)
        return err_set(e, ERR_SQL, "no password can be made: %s", PQerrorMessage(conn));
    // The current user becomes a member of the role, because a member may see and end the role's
    // backends even without being a superuser.
    snprintf(sql, sizeof sql,
        "DO $$ BEGIN DROP ROLE IF EXISTS %s; CREATE ROLE %s;"
        " EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END $$;"
        "ALTER ROLE %s LOGIN%s%s%s; GRANT %s TO CURRENT_USER",
        role, role, role, encrypted ? " PASSWORD '" : "", encrypted ? encrypted : "",
        encrypted ? "'" : "", role);
    PQfreemem(encrypted);
    return sql_exec(conn, sql, e);
}

// Applies the migrations, and marks those roles of MIGRATE_SHARED that these migrations have
// created, so that a later run may drop them.
static bool migrate_and_mark(PGconn *conn, int last, struct err *e)
{
    return sql_exec(conn,
               "CREATE TEMPORARY TABLE roles_before AS SELECT rolname FROM pg_roles"
               " WHERE rolname IN (" MIGRATE_SHARED ")",
               e) &&
           apply_migrations(conn, last, e) &&
           sql_exec(conn,
               "DO $$ DECLARE made name; BEGIN"
               " FOR made IN SELECT rolname FROM pg_roles WHERE rolname IN (" MIGRATE_SHARED ")"
               " EXCEPT SELECT rolname FROM roles_before LOOP"
               " EXECUTE format('COMMENT ON ROLE %I IS %L', made, '" MIGRATE_MARK "');"
               " END LOOP; END $$; DROP TABLE roles_before",
               e);
}

// Creates the run's three roles and grants them what they need.
static bool create_roles(const struct server *s, PGconn *conn, enum layout layout, struct err *e)
{
    char granted[8];

    if (!create_role(conn, MIGRATE_COLLECTOR, s->password, e) ||
        !create_role(conn, MIGRATE_LOAD, s->password, e) ||
        !create_role(conn, MIGRATE_STRANGER, s->password, e) ||
        !sql_exec(conn,
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO " MIGRATE_LOAD ";"
            "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO " MIGRATE_LOAD,
            e) ||
        !sql_value(conn,
            "SELECT count(*) FROM pg_roles WHERE rolname = '" MIGRATE_GROUP "'"
            " AND has_table_privilege(oid, to_regclass('tokens')::oid, 'SELECT')",
            granted, sizeof granted, e))
        return false;
    // The group exists in the whole server. If only another database's migrations have made it, it
    // has no rights in this database, and `granted` is 0.
    if (layout == LAYOUT_REFERENCE && strcmp(granted, "1") == 0)
        return sql_exec(conn, "GRANT " MIGRATE_GROUP " TO " MIGRATE_COLLECTOR, e);
    return sql_exec(conn,
        "GRANT ALL ON SCHEMA public TO " MIGRATE_COLLECTOR ";"
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO " MIGRATE_COLLECTOR ";"
        "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO " MIGRATE_COLLECTOR,
        e);
}

bool migrate_database(
    const struct server *s, int last, enum layout layout, enum announce announce, struct err *e)
{
    if (!migrate_exists(last, e) || !create_database(s, e))
        return false;
    PGconn *conn FREED_BY(sql_finish) = migrate_admin(s, e);
    // The migrations refuse a schema in which everybody may create objects. Before PostgreSQL 15,
    // `public` of a new database is one.
    return conn && sql_exec(conn, "REVOKE CREATE ON SCHEMA public FROM PUBLIC", e) &&
           migrate_and_mark(conn, last, e) && create_roles(s, conn, layout, e) &&
           (announce != ANNOUNCE_BELL || sql_exec(conn, "SELECT mailroom_announce('bell')", e)) &&
           await_members(s, e);
}
