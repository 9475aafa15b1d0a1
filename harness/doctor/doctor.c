#include "doctor/doctor.h"

#include <stdarg.h>

#include "doctor/patient.h"
#include "postgres/sql.h"

#define CONNECT_TIMEOUT "5" // seconds

// Parses the conninfo into p->options. ERR_USAGE when it cannot be parsed.
static bool parse_address(struct patient *p, const char *conninfo, struct err *e)
{
    char *message = NULL;

    p->options = PQconninfoParse(conninfo, &message);
    if (!p->options) {
        // libpq's message is left out, because it may quote the string and with it a password.
        err_set(e, ERR_USAGE, "doctor: that is not a conninfo string or URI (%s)",
            message && strstr(message, "invalid") ? "libpq finds an invalid option in it"
                                                  : "see libpq's connection strings");
        PQfreemem(message);
        return false;
    }
    return true;
}

// Opens a session. NULL when that fails: *why begins with `trouble`.
static PGconn *open_session(const char *conninfo, const char *trouble, struct err *why)
{
    // The conninfo comes last in this list, so its settings win over those before it.
    static const char *const keys[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *values[] = {CONNECT_TIMEOUT, "mailproof doctor", conninfo, NULL};
    PGconn *session = PQconnectdbParams(keys, values, 1);

    if (PQstatus(session) == CONNECTION_OK)
        return session;
    sql_fail(session, NULL, trouble, why);
    PQfinish(session);
    return NULL;
}

// Opens both sessions. If one cannot be opened, adds a finding. False without a first session.
static bool open_sessions(struct patient *p, const char *conninfo)
{
    struct err why;

    p->about = "connection";
    p->first = open_session(conninfo, "no session", &why);
    if (!p->first) {
        patient_breaks(p,
            "Start the server, or correct host, port, database, role, password or pg_hba.conf.",
            "%.280s", why.text);
        return false;
    }
    p->second = open_session(conninfo, "a second session gets no answer", &why);
    if (!p->second)
        patient_breaks(p,
            "Allow more connections: a larger pool, or a higher max_connections or role limit.",
            "%.200s; a collector and the application need one each", why.text);
    return true;
}

static void examine_all(struct patient *p)
{
    static const struct examination *const groups[] = {
        doctor_session_examinations, doctor_server_examinations, doctor_rights_examinations};

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (const struct examination *x = groups[g]; x->name; x++) {
            p->about = x->name;
            p->concern = x->concern;
            x->examine(p);
        }
    }
}

bool doctor_examine(struct diagnosis *d, const char *conninfo, struct err *e)
{
    struct patient p = {.diagnosis = d};

    *d = (struct diagnosis){0};
    if (!parse_address(&p, conninfo, e))
        return false;
    // Without a session there is nothing else to examine.
    if (open_sessions(&p, conninfo))
        examine_all(&p);
    PQfinish(p.first);
    PQfinish(p.second);
    PQconninfoFree(p.options);
    return true;
}

size_t doctor_count(const struct diagnosis *d, enum weight weight, enum concern whom)
{
    size_t count = 0;

    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        count += f->weight == weight &&
                 (whom == CONCERNS_BOTH || f->concern == CONCERNS_BOTH || f->concern == whom);
    }
    return count;
}

// Adds a finding of the present examination. Findings for which there is no room are dropped.
static void add_finding(
    struct patient *p, enum weight weight, const char *advice, const char *fmt, va_list args)
{
    struct diagnosis *d = p->diagnosis;

    if (d->count == DOCTOR_FINDINGS_MAX)
        return;
    struct finding *f = &d->findings[d->count++];
    *f = (struct finding){.about = p->about, .weight = weight, .concern = p->concern};
    vsnprintf(f->what, sizeof f->what, fmt, args);
    snprintf(f->advice, sizeof f->advice, "%s", advice);
}

void patient_good(struct patient *p, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_finding(p, WEIGHT_GOOD, "", fmt, args);
    va_end(args);
}

void patient_note(struct patient *p, const char *advice, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_finding(p, WEIGHT_NOTE, advice, fmt, args);
    va_end(args);
}

void patient_breaks(struct patient *p, const char *advice, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_finding(p, WEIGHT_BREAKS, advice, fmt, args);
    va_end(args);
}

bool patient_ask(struct patient *p, PGconn *conn, const char *sql, char *out, size_t size)
{
    struct err why;
    PGresult *result FREED_BY(sql_clear) = sql_query(conn, sql, 0, NULL, &why);

    if (!result) {
        patient_breaks(
            p, "Run doctor again; if it persists, look into the server's log.", "%.280s", why.text);
        return false;
    }
    snprintf(out, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    return true;
}

bool patient_number(struct patient *p, const char *sql, double *out)
{
    char text[64];

    if (!patient_ask(p, p->first, sql, text, sizeof text))
        return false;
    *out = strtod(text, NULL);
    return true;
}
