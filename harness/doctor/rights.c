// Examines whether this role may do what the migrations, a collector and a run need.
#include <string.h>

#include "doctor/patient.h"

static bool answers_yes(struct patient *p, const char *sql, bool *yes)
{
    char text[8];

    if (!patient_ask(p, p->first, sql, text, sizeof text))
        return false;
    *yes = strcmp(text, "t") == 0;
    return true;
}

static void examine_schema(struct patient *p)
{
    bool there, create;

    if (!answers_yes(p,
            "SELECT to_regclass('tokens') IS NOT NULL AND to_regclass('jobs') IS NOT NULL",
            &there) ||
        !answers_yes(
            p, "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)", &create))
        return;
    if (there)
        patient_good(p, "the tables tokens and jobs are there");
    else if (create)
        patient_note(p, "Apply migrations/ before a collector starts.",
            "the tables are not there yet; this role may create them");
    else
        patient_breaks(p,
            "GRANT CREATE ON SCHEMA … TO this role, or migrate as the schema's owner.",
            "the tables are not there, and this role may not create any");
}

static void examine_pgcrypto(struct patient *p)
{
    bool there, possible;

    if (!answers_yes(p, "SELECT to_regproc('gen_random_bytes') IS NOT NULL", &there) ||
        !answers_yes(p,
            "SELECT EXISTS (SELECT FROM pg_available_extension_versions AS v, pg_roles AS r"
            " WHERE v.name = 'pgcrypto' AND r.rolname = current_user AND (r.rolsuper OR"
            " (v.trusted AND has_database_privilege(current_database(), 'CREATE'))))",
            &possible))
        return;
    if (there)
        patient_good(p, "gen_random_bytes is there");
    else if (possible)
        patient_good(p, "the extension pgcrypto can be created");
    else
        patient_breaks(p, "Have an administrator run: CREATE EXTENSION pgcrypto.",
            "the extension pgcrypto is not there, and this role may not create it");
}

// The collector's own rights, where the schema is there already.
static void examine_collector(struct patient *p)
{
    bool works;

    if (!answers_yes(p,
            "SELECT CASE WHEN to_regclass('tokens') IS NULL OR to_regclass('jobs') IS NULL THEN "
            "true"
            " ELSE has_table_privilege('tokens', 'SELECT')"
            " AND (has_table_privilege('jobs', 'UPDATE') OR has_any_column_privilege('jobs', "
            "'UPDATE')) END",
            &works))
        return;
    if (!works)
        patient_breaks(p, "GRANT mailroom_collector TO this role.",
            "this role may not read tokens and move the cursor");
}

// A run makes a database and three roles of its own.
static void examine_run(struct patient *p)
{
    bool enough;

    if (!answers_yes(p,
            "SELECT rolsuper OR (rolcreatedb AND rolcreaterole)"
            " FROM pg_roles WHERE rolname = current_user",
            &enough))
        return;
    if (enough)
        patient_good(p, "a run may make its database and roles");
    else
        patient_note(p, "ALTER ROLE … CREATEDB CREATEROLE, or let the run start its own server.",
            "this role may not make databases and roles: 'mailproof run --postgres' skips with it");
}

const struct examination doctor_rights_examinations[] = {
    {"schema", examine_schema},
    {"pgcrypto", examine_pgcrypto},
    {"collector", examine_collector},
    {"run", examine_run},
    {0},
};
