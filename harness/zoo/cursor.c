#include "cursor.h"

#include "sql.h"

static bool run(
    struct session *s, const char *sql, int count, const char *const *params, struct err *e)
{
    PGresult *result;

    if (!session_query(s, sql, count, params, &result, e))
        return false;
    PQclear(result);
    return true;
}

const char *cursor_read_sql(enum defect defect)
{
    return defect == DEFECT_ID_ONLY     ? sql_read_id_only
           : defect == DEFECT_XMIN_ONLY ? sql_read_xmin_only
                                        : sql_read;
}

bool cursor_move(struct session *s, const struct settings *settings, struct batch *b, struct err *e)
{
    const char *params[] = {settings->queue, b->from.xid, b->from.id, b->to.xid, b->to.id,
        buf_str(&b->dead), buf_str(&b->dead_reasons)};

    return run(s, sql_move, 7, params, e);
}

bool cursor_move_back(
    struct session *s, const struct settings *settings, const struct position *to, struct err *e)
{
    const char *params[] = {settings->queue, to->xid, to->id};

    return run(s, sql_move_back, 3, params, e);
}
