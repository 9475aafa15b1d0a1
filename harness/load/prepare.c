// What the plan's recovery tokens need to find: accounts that are active already.
#include "base/buf.h"
#include "load/load.h"
#include "plan/names.h"

bool load_prepare(PGconn *conn, const struct plan *plan, struct err *e)
{
    enum { CHUNK = 10000 };
    static const char sql[] =
        "INSERT INTO accounts (email, login, status)"
        " SELECT email, login, 'active' FROM unnest($1::text[], $2::text[]) AS p (email, login)";
    struct buf emails, logins;
    bool ok = true;

    buf_init(&emails, 1 << 20);
    buf_init(&logins, 1 << 20);
    for (size_t t = 0, held = 0; ok && t < plan->token_count; t++) {
        char name[NAMES_MAX];
        if (token_kind_recovery(plan->kinds[t])) {
            buf_append_char(&emails, held ? ',' : '{');
            buf_append_char(&logins, held ? ',' : '{');
            buf_append(&emails, name, names_email(name, (uint32_t)t));
            buf_append(&logins, name, names_login(name, (uint32_t)t));
            held++;
        }
        if (held == 0 || (held < CHUNK && t + 1 < plan->token_count))
            continue;
        buf_append(&emails, "}", 2);
        buf_append(&logins, "}", 2);
        const char *values[] = {emails.data, logins.data};
        PGresult *result = PQexecParams(conn, sql, 2, NULL, values, NULL, NULL, 0);
        ok = PQresultStatus(result) == PGRES_COMMAND_OK ||
             err_set(e, ERR_SQL, "cannot make the accounts for recovery tokens: %s",
                 PQresultErrorMessage(result));
        PQclear(result);
        buf_clear(&emails);
        buf_clear(&logins);
        held = 0;
    }
    buf_fini(&emails);
    buf_fini(&logins);
    return ok;
}
