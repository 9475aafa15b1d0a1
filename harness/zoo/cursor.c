#include "cursor.h"

#include "sql.h"

const char *cursor_read_sql(enum defect defect)
{
    return defect == DEFECT_ID_ONLY     ? sql_read_id_only
           : defect == DEFECT_XMIN_ONLY ? sql_read_xmin_only
           : defect == DEFECT_GIVES_UP  ? sql_read_gaps
                                        : sql_read;
}

bool cursor_move(struct session *s, const struct settings *settings, struct batch *b, struct err *e)
{
    const char *params[] = {settings->queue, b->from.xid, b->from.id, b->to.xid, b->to.id,
        buf_str(&b->dead), buf_str(&b->dead_reasons)};

    return session_value(s, &(struct session_call){sql_move, 7, params}, NULL, 0, e);
}

bool cursor_overlap(struct session *s, const struct settings *settings, struct err *e)
{
    return session_value(s, &(struct session_call){sql_overlap, 1, &settings->queue}, NULL, 0, e);
}

bool cursor_move_back(
    struct session *s, const struct settings *settings, const struct position *to, struct err *e)
{
    const char *params[] = {settings->queue, to->xid, to->id};

    return session_value(s, &(struct session_call){sql_move_back, 3, params}, NULL, 0, e);
}
