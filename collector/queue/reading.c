#include "queue/reading.h"

#include "queue/lines_columns.h"

struct reading reading_count(const PGresult *r, int limit)
{
    struct reading seen = {.rows = 1};

    // Counting ends with the line's last token. The cursor goes no further, so the next read sees,
    // and counts, the tokens that are passed over after it.
    for (int row = 1; row < PQntuples(r) && seen.tokens < limit; row++) {
        const char *passed = PQgetvalue(r, row, LINES_PASSED);
        if (lines_is_token(column_int32(r, row, LINES_KIND))) {
            const struct token t = lines_token(r, row);
            seen.unsendable = seen.unsendable || line_unsendable(&t);
            seen.tokens++;
        } else if (strcmp(passed, "expired") == 0) {
            seen.passed.expired++;
        } else if (strcmp(passed, "consumed") == 0) {
            seen.passed.consumed++;
        } else {
            seen.passed.status++;
        }
        seen.rows = row + 1;
    }
    return seen;
}

// The head's place has n (the number of the cursor's moves) and three snapshots: seen, tick, and
// now, which the read saw. Tokens wait in two parts: 1 between seen and tick, 2 between tick and
// now. The line's place has n, two snapshots (from, tick), between which part 1 then lies, and the
// xid and id of the line's last row. If nothing waits after the line, both are now. If the line
// ends in part 2, part 1 is used up, and they are tick and now. Otherwise they stay seen and tick.
bool reading_place(
    const struct reading *seen, const PGresult *r, bool more, struct buf *place, struct err *e)
{
    const char *head = PQgetvalue(r, 0, LINES_PLACE), *fields[3] = {NULL}; // seen, tick, now
    const char *at = head;

    for (int i = 0; i < 3 && at; i++)
        if ((at = strchr(at, ';')) != NULL)
            fields[i] = ++at;
    if (!fields[2])
        return err_set(e, ERR_INTERNAL, "the server's answer to a read has no place");
    bool in_part_2 = column_int32(r, seen->rows - 1, LINES_PART) == 2;
    const char *from = !more ? fields[2] : in_part_2 ? fields[1] : fields[0];
    const char *tick = !more || in_part_2 ? fields[2] : fields[1];
    buf_printf(place, "%.*s;%.*s;%.*s;%" PRId64 ";%" PRId64, (int)strcspn(head, ";"), head,
        (int)strcspn(from, ";"), from, (int)strcspn(tick, ";"), tick,
        column_int64(r, seen->rows - 1, LINES_XID), column_int64(r, seen->rows - 1, LINES_TOKEN));
    return buf_str(place) || err_memory(e);
}
