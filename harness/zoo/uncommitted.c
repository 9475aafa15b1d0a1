#include "uncommitted.h"

#include <string.h>

#include "base/clock.h"
#include "output.h"
#include "sql.h"
#include "stop.h"

#define LOOK_EVERY_NS (5 * NS_PER_MS)
#define KNOWN_MAX 256 // more than the number of sessions that insert tokens

struct known {
    char ids[KNOWN_MAX][24];
    size_t next;
};

// True when a token is overheard for the first time. A session keeps a token's name until its next
// token, so the same token is overheard many times.
static bool is_new(struct known *known, const char *id)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (strcmp(known->ids[i], id) == 0)
            return false;
    strncpy(known->ids[known->next], id, sizeof known->ids[0] - 1);
    known->next = (known->next + 1) % KNOWN_MAX;
    return true;
}

static bool write_new(struct session *s, const struct settings *settings, struct batch *b,
    const PGresult *rows, struct known *known, struct err *e)
{
    int ignored = 0;

    for (int i = 0; i < PQntuples(rows); i++) {
        if (!is_new(known, PQgetvalue(rows, i, 4)))
            continue;
        batch_clear(b);
        if (!batch_add(b, rows, i, settings->key, e) || !buf_append_char(&b->line, '\n') ||
            !output_write(&b->line, s, &ignored, b->defect, e))
            return false;
    }
    return true;
}

bool uncommitted_serve(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e)
{
    struct known known = {0};
    PGresult *result;

    if (!session_query(s, sql_tell_early, 0, NULL, &result, e))
        return false;
    PQclear(result);
    while (!stop_requested()) {
        if (!session_query(s, sql_overhear, 0, NULL, &result, e))
            return false;
        bool ok = write_new(s, settings, b, result, &known, e);
        PQclear(result);
        if (!ok)
            return false;
        stop_poll(NULL, 0, clock_now_ns() + LOOK_EVERY_NS);
    }
    return true;
}
