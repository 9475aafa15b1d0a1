#include "batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"
#include "session.h"

void batch_init(struct batch *b, int limit)
{
    *b = (struct batch){.limit = limit};
}

void batch_clear(struct batch *b)
{
    PQclear(b->result);
    *b = (struct batch){.rows = b->rows, .room = b->room, .limit = b->limit};
}

void batch_fini(struct batch *b)
{
    batch_clear(b);
    free(b->rows);
    *b = (struct batch){0};
}

// The columns of a read, in binary.
enum {
    WHAT,
    PART,
    TO_XID,
    XID,
    ID,
    EMAIL,
    LOGIN,
    SECRET,
    CODE,
    EXAMINED,
    EXPIRED,
    CONSUMED,
    COLUMNS
};

// Kinds of rows. Any other value is the action of a token.
enum { ROW_END = 0, ROW_HEAD = 3 };

static void decode_token(const PGresult *r, int i, const struct doubt *doubt, struct row *row)
{
    *row = (struct row){.token = {.id = column_int64(r, i, ID),
                            .action = (enum token_action)column_int32(r, i, WHAT),
                            .email = column_field(r, i, EMAIL),
                            .login = column_field(r, i, LOGIN),
                            .secret = column_field(r, i, SECRET),
                            .code = column_field(r, i, CODE)}};
    row->unsendable = line_unsendable(&row->token);
    row->written = !row->unsendable && doubt_has(doubt, &row->token);
}

// More rows than any table holds. The server's counts are added up, and must not overflow.
static bool is_count(int64_t number)
{
    return number >= 0 && number <= INT64_C(1) << 48;
}

// Ends the batch with this row of the answer. The rows before it that are not tokens were passed
// over. False: the row's counts make no sense.
static bool decode_end(const PGresult *r, int i, struct batch *b)
{
    b->examined = column_int64(r, i, EXAMINED);
    b->part = column_int32(r, i, PART);
    b->end =
        (struct position){.xid = (uint64_t)column_int64(r, i, XID), .id = column_int64(r, i, ID)};
    b->stretch = (uint64_t)column_int64(r, i, TO_XID);
    if (batch_is_delivery(b))
        b->number = (int64_t)b->end.xid;
    b->passed = (struct passed){
        .expired = column_int64(r, i, EXPIRED), .consumed = column_int64(r, i, CONSUMED)};
    if (!is_count(b->examined) || !is_count(b->passed.expired) || !is_count(b->passed.consumed))
        return false;
    b->passed.status = b->examined - b->n - b->passed.expired - b->passed.consumed;
    return true;
}

static bool make_room(struct batch *b, int rows, struct err *e)
{
    if (rows <= b->room)
        return true;
    struct row *more = realloc(b->rows, (size_t)rows * sizeof *more);
    if (!more)
        return err_memory_for(e, "a batch of %d", rows);
    b->rows = more;
    b->room = rows;
    return true;
}

static bool makes_no_sense(struct err *e)
{
    return err_set(
        e, ERR_INTERNAL, "the server's answer to a read does not have the expected columns");
}

// Reads the head, which is the first row. Without a head there is no cursor, and no token follows.
static bool decode_head(struct batch *b, const PGresult *r, int *first, struct err *e)
{
    *first = 0;
    if (PQnfields(r) != COLUMNS || PQntuples(r) == 0)
        return makes_no_sense(e);
    if (column_int32(r, 0, WHAT) != ROW_HEAD)
        return true;
    b->number = column_int64(r, 0, ID);
    b->now = PQgetvalue(r, 0, EMAIL);
    *first = 1;
    return true;
}

bool batch_decode(struct batch *b, PGresult *r, enum batch_source source, int wanted, int examine,
    const struct doubt *doubt, struct err *e)
{
    int first;

    batch_clear(b);
    b->result = r;
    b->source = source;
    if (!session_check(r, e) || !decode_head(b, r, &first, e) ||
        !make_room(b, PQntuples(r) - first, e))
        return false;
    for (int i = first; i < PQntuples(r); i++) {
        int32_t what = column_int32(r, i, WHAT);
        if (what == ROW_END) {
            if (!decode_end(r, i, b))
                return makes_no_sense(e);
            b->more = b->n < wanted && b->examined >= examine;
            b->all = b->n < wanted && !b->more && source != BATCH_DELIVERY;
            return true;
        }
        if (b->n == wanted || (what != TOKEN_ACTIVATION && what != TOKEN_PASSWORD_RECOVERY))
            return makes_no_sense(e);
        struct row *row = &b->rows[b->n++];
        decode_token(r, i, doubt, row);
        b->sendable += !row->unsendable && !row->written;
        if (!decode_end(r, i, b))
            return makes_no_sense(e);
        if (b->sendable == b->limit)
            return true;
    }
    return true;
}

void batch_cut(struct batch *b, int sendable)
{
    int first = column_int32(b->result, 0, WHAT) == ROW_HEAD, kept = 0, n = 0;

    assert(sendable > 0 && sendable < b->sendable);
    while (kept < sendable) {
        kept += !b->rows[n].unsendable && !b->rows[n].written;
        n++;
    }
    b->n = n;
    b->sendable = sendable;
    b->all = b->more = false;
    bool decoded = decode_end(b->result, first + n - 1, b);
    assert(decoded); // batch_decode has seen this row
    (void)decoded;
}

bool batch_is_delivery(const struct batch *b)
{
    return b->source == BATCH_TAKEN || b->source == BATCH_DELIVERY;
}
