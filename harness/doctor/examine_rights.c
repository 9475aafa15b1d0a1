// Examines whether this role may do what the migrations, a collector and a run need.
#include "collector_sql.h"
#include "doctor/patient.h"

#define FIRST_MIGRATION "000001_init.up.sql" // makes the tables

// Asks a question to which the server answers true or false. Returns false when the query failed.
static bool ask_yes_no(struct patient *p, const char *sql, bool *yes)
{
    char text[8];

    if (!patient_ask(p, p->first, sql, text, sizeof text))
        return false;
    *yes = strcmp(text, "t") == 0;
    return true;
}

// Tells whether a database that has the tables has all migrations. `missing` is the first that it
// lacks; "": none.
static void tell_migrations(struct patient *p, const char *missing)
{
    static const char apply[] =
        "Stop the collectors; apply it and those after it: 'migrate -path migrations -database … "
        "up', or psql -v ON_ERROR_STOP=1 -f each.";

    if (*missing)
        patient_breaks(p, apply,
            "the tables are there, but migrations/%s is missing: mailroom-collector needs it",
            missing);
    else
        patient_good(p, "the tables and all migrations that a collector needs are there");
}

// Examines whether the tables are there or, in a new database, whether this role may make them.
static void examine_schema(struct patient *p)
{
    char missing[80]; // the first migration that is missing; "": none
    char grant[200];  // advice
    bool may_create;

    if (!patient_ask(p, p->first, collector_sql_schema, missing, sizeof missing) ||
        !ask_yes_no(p, "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)",
            &may_create) ||
        !patient_ask(p, p->first,
            "SELECT format('GRANT CREATE ON SCHEMA %I TO %I; or migrate as the schema''s owner.',"
            " coalesce(current_schema(), 'public'), current_user)",
            grant, sizeof grant))
        return;
    // A database without the tables is no fault: it may be new.
    if (strcmp(missing, FIRST_MIGRATION) != 0)
        tell_migrations(p, missing);
    else if (may_create)
        patient_note(p, "Apply migrations/ before a collector starts.",
            "the tables are not there yet; this role may create them");
    else
        patient_breaks(p, grant, "the tables are not there, and this role may not create any");
}

// Examines whether gen_random_bytes, which makes the secrets, is there or can be created.
static void examine_pgcrypto(struct patient *p)
{
    bool there, creatable, run_can_create;

    if (!ask_yes_no(p, "SELECT to_regproc('gen_random_bytes') IS NOT NULL", &there) ||
        !ask_yes_no(p,
            "SELECT EXISTS (SELECT FROM pg_available_extension_versions AS v, pg_roles AS r"
            " WHERE v.name = 'pgcrypto' AND r.rolname = current_user AND (r.rolsuper OR"
            " (v.trusted AND has_database_privilege(current_database(), 'CREATE'))))",
            &creatable) ||
        !ask_yes_no(p,
            "SELECT EXISTS (SELECT FROM pg_available_extension_versions AS v, pg_roles AS r"
            " WHERE v.name = 'pgcrypto' AND r.rolname = current_user"
            " AND (r.rolsuper OR v.trusted))",
            &run_can_create))
        return;
    // A run creates the extension in a database of its own. If it cannot, a missing extension
    // concerns the run, too.
    if (!run_can_create && !there)
        p->concern = CONCERNS_BOTH;
    // Someone else may have created the extension, so the right to create it matters only if it is
    // missing.
    if (there)
        patient_good(p, "gen_random_bytes is there");
    else if (creatable)
        patient_good(p, "the extension pgcrypto can be created");
    else
        patient_breaks(p, "Have an administrator run: CREATE EXTENSION pgcrypto.",
            "the extension pgcrypto is not there, and this role may not create it");
}

// Examines whether the database's encoding can hold the names of every account.
static void examine_encoding(struct patient *p)
{
    char encoding[40];

    if (!patient_ask(p, p->first, "SELECT getdatabaseencoding()", encoding, sizeof encoding))
        return;
    if (strcmp(encoding, "UTF8") == 0)
        patient_good(p, "the database's encoding is UTF8");
    else
        patient_breaks(p, "createdb -T template0 -E UTF8 NAME && pg_dump … | psql NAME",
            "the database's encoding is %s, and the migrations refuse all but UTF8", encoding);
}

// Examines whether other roles, except superusers and the owner of the schema or of the tokens, may
// create functions and operators in the schema, which the queue's triggers and functions might then
// call. The migrations refuse such a schema, too.
static void examine_creators(struct patient *p)
{
    char others[120], revoke[240];

    if (!patient_ask(p, p->first,
            "SELECT coalesce(string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC'"
            " ELSE a.grantee::regrole::text END, ', '), '')"
            " FROM pg_namespace AS n, aclexplode(n.nspacl) AS a"
            " WHERE n.nspname = current_schema() AND a.privilege_type = 'CREATE'"
            " AND a.grantee NOT IN (n.nspowner, current_user::regrole)"
            " AND a.grantee IS DISTINCT FROM (SELECT relowner FROM pg_class"
            " WHERE oid = to_regclass('tokens'))"
            " AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = a.grantee AND r.rolsuper)",
            others, sizeof others) ||
        !patient_ask(p, p->first,
            "SELECT format('REVOKE CREATE ON SCHEMA %I FROM ', coalesce(current_schema(), "
            "'public'))",
            revoke, sizeof revoke))
        return;
    size_t len = strlen(revoke);
    snprintf(revoke + len, sizeof revoke - len, "%s;", others);
    if (!*others)
        patient_good(p, "nobody else may create objects in the schema");
    else
        patient_breaks(p, revoke,
            "%s may create objects in the schema, and so act with the rights of others", others);
}

// A FROM clause: the queue's functions (p) in the schema of the table tokens (t) that run with the
// rights of their owners (r).
#define FROM_QUEUE_FUNCTIONS                                                                       \
    " FROM pg_proc AS p JOIN pg_roles AS r ON r.oid = p.proowner"                                  \
    " JOIN pg_class AS t ON t.oid = to_regclass('tokens') AND t.relnamespace = p.pronamespace"     \
    " WHERE p.prosecdef AND (p.proname LIKE 'mailroom\\_%' OR p.proname = 'tokens_truncated')"

// Returns whether the queue's functions are there. Otherwise adds a finding that says so.
static bool functions_are_there(struct patient *p)
{
    bool there;

    if (!ask_yes_no(p, "SELECT EXISTS (SELECT" FROM_QUEUE_FUNCTIONS ")", &there))
        return false;
    if (!there)
        patient_good(p, "nothing to look at: the queue's functions are not there yet");
    return there;
}

// Examines with whose rights the queue's functions run. They work with any owner, so the finding is
// only a note.
static void examine_owner(struct patient *p)
{
    char owners[160];
    bool secure_exists;

    if (!functions_are_there(p) ||
        !patient_ask(p, p->first,
            "SELECT coalesce(string_agg(DISTINCT r.rolname || CASE WHEN r.rolsuper"
            " THEN ' (a superuser)' ELSE ' (who logs in)' END, ', '), '')" FROM_QUEUE_FUNCTIONS
            " AND (r.rolsuper OR r.rolcanlogin)",
            owners, sizeof owners) ||
        !ask_yes_no(p, "SELECT to_regproc('mailroom_secure') IS NOT NULL", &secure_exists))
        return;
    if (*owners)
        patient_note(p,
            secure_exists ? "Have a superuser run: SELECT mailroom_secure()"
                          : "Apply 000023_owner and the migrations after it.",
            "the queue's functions act with the rights of %s", owners);
    else
        patient_good(p, "the queue's functions have an owner without other rights");
}

// Examines whether the owner of the queue's functions has the rights that they need. A database
// that was restored from a dump may lack these rights.
static void examine_functions(struct patient *p)
{
    char lacks[200];  // which rights the owners lack
    char hidden[120]; // tables whose rows row security may hide from them

    if (!functions_are_there(p) ||
        !patient_ask(p, p->first,
            "SELECT coalesce(string_agg(DISTINCT w.what, ', '), '') FROM (SELECT DISTINCT"
            " r.oid, r.rolname" FROM_QUEUE_FUNCTIONS ") AS o (owner, name), LATERAL ("
            " SELECT name || ' may not use ' || t FROM unnest(ARRAY['accounts', 'tokens', 'jobs',"
            " 'cursors', 'owners', 'deliveries', 'budgets', 'attempts', 'runs', 'dead_letters']) "
            "AS t WHERE to_regclass(t) IS NOT NULL"
            // A database that was restored without its rights has none, so one stands for all.
            " AND NOT has_any_column_privilege(owner, to_regclass(t), 'SELECT, INSERT')"
            " UNION ALL SELECT name || ' may not call ' || f.proname FROM pg_proc AS f"
            // Two of the functions that the others call stand for all: mailroom_secure() grants all
            // at once.
            " WHERE f.oid IN (to_regproc('mailroom_walk'), to_regproc('mailroom_untaken'))"
            " AND NOT has_function_privilege(owner, f.oid, 'EXECUTE')) AS w (what)",
            lacks, sizeof lacks) ||
        // The functions set row_security = off: a table that would hide rows makes them fail.
        !patient_ask(p, p->first,
            "SELECT coalesce(string_agg(DISTINCT c.relname, ', '), '') FROM (SELECT DISTINCT r.oid,"
            " r.rolsuper OR r.rolbypassrls" FROM_QUEUE_FUNCTIONS
            ") AS o (owner, exempt), pg_class AS c"
            " WHERE c.relrowsecurity AND c.oid IN (SELECT to_regclass(t)"
            " FROM unnest(ARRAY['accounts', 'tokens', 'jobs', 'cursors', 'owners', 'deliveries',"
            " 'budgets', 'attempts', 'runs', 'dead_letters']) AS t)"
            " AND NOT exempt"
            " AND NOT (pg_has_role(owner, c.relowner, 'USAGE') AND NOT c.relforcerowsecurity)",
            hidden, sizeof hidden))
        return;
    if (*lacks)
        patient_breaks(p, "Have a superuser run: SELECT mailroom_secure()",
            "the queue's functions fail, because %s", lacks);
    if (*hidden)
        patient_breaks(p, "Have a superuser run: ALTER ROLE mailroom_owner BYPASSRLS",
            "row security may hide rows of %s from the queue's functions, so they fail", hidden);
    if (!*lacks && !*hidden)
        patient_good(p, "the owner of the queue's functions has the rights that they need");
}

// Examines whether this role has a collector's rights, if the tables are there already.
static void examine_collector(struct patient *p)
{
    bool has_rights;

    if (!ask_yes_no(p,
            "SELECT CASE WHEN to_regclass('tokens') IS NULL OR to_regclass('jobs') IS NULL THEN "
            "true"
            " ELSE has_table_privilege('tokens', 'SELECT') AND (has_table_privilege('jobs',"
            " 'UPDATE') OR has_any_column_privilege('jobs', 'UPDATE')) END",
            &has_rights))
        return;
    if (!has_rights)
        patient_breaks(p, "GRANT mailroom_collector TO this role.",
            "this role may not read tokens and move the cursor");
}

// Examines whether a run can make its database and its three roles.
static void examine_run(struct patient *p)
{
    char alter[200];
    bool may_make, is_collector;

    if (!ask_yes_no(p,
            "SELECT rolsuper OR (rolcreatedb AND rolcreaterole)"
            " FROM pg_roles WHERE rolname = current_user",
            &may_make) ||
        !ask_yes_no(p,
            "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_collector'"
            " AND pg_has_role(oid, 'MEMBER'))",
            &is_collector) ||
        !patient_ask(p, p->first,
            "SELECT format('ALTER ROLE %I CREATEDB CREATEROLE; or let the run start its own "
            "server.', current_user)",
            alter, sizeof alter))
        return;
    if (may_make)
        patient_good(p, "a run may make its database and roles");
    else if (is_collector)
        // A collector's role should have no more rights than a collector needs, so do not advise to
        // give it more.
        patient_note(p, "Give a run another role, or let it start its own server.",
            "this is a collector's role, which may not make databases and roles, as it should be");
    else
        patient_note(p, alter,
            "this role may not make databases and roles: 'mailproof run --postgres' skips every "
            "scenario");
}

const struct examination doctor_rights_examinations[] = {
    {"schema", examine_schema, CONCERNS_COLLECTOR},
    {"encoding", examine_encoding, CONCERNS_COLLECTOR},
    {"creators", examine_creators, CONCERNS_COLLECTOR},
    {"owner", examine_owner, CONCERNS_COLLECTOR},
    {"functions", examine_functions, CONCERNS_COLLECTOR},
    {"pgcrypto", examine_pgcrypto, CONCERNS_COLLECTOR},
    {"collector", examine_collector, CONCERNS_COLLECTOR},
    {"run", examine_run, CONCERNS_RUN},
    {0},
};
