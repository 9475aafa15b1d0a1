#include "batch.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

bool batch_init(struct batch *b, int limit, int rows_max, struct err *e)
{
    *b = (struct batch){.rows = calloc((size_t)rows_max, sizeof *b->rows), .limit = limit};
    b->by_id = calloc((size_t)rows_max, sizeof *b->by_id);
    return (b->rows && b->by_id) ||
           err_sys(e, ERR_SYSTEM, "no memory for a batch limit of %d", limit);
}

void batch_clear(struct batch *b)
{
    struct batch empty = {.rows = b->rows, .by_id = b->by_id, .limit = b->limit};

    PQclear(b->result);
    *b = empty;
}

void batch_fini(struct batch *b)
{
    batch_clear(b);
    free(b->rows);
    free(b->by_id);
    *b = (struct batch){0};
}

// The columns of a read, in binary.
enum {
    KIND,
    XID,
    ID,
    ACCOUNT,
    ACTION,
    EMAIL,
    LOGIN,
    SECRET,
    CODE,
    EXAMINED,
    EXPIRED,
    CONSUMED,
    HORIZON,
    COLUMNS
};

static int64_t int64_at(const PGresult *r, int row, int column)
{
    uint64_t big;

    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int64_t)be64toh(big);
}

static int32_t int32_at(const PGresult *r, int row, int column)
{
    uint32_t big;

    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int32_t)be32toh(big);
}

static struct field field_at(const PGresult *r, int row, int column)
{
    if (PQgetisnull(r, row, column))
        return (struct field){0};
    return (struct field){
        .data = PQgetvalue(r, row, column), .len = (size_t)PQgetlength(r, row, column)};
}

static struct position position_at(const PGresult *r, int row)
{
    return (struct position){.xid = (uint64_t)int64_at(r, row, XID), .id = int64_at(r, row, ID)};
}

// `eligible` rows came up to here; the rest of what was examined was passed.
static struct passed passed_at(const PGresult *r, int row, int eligible)
{
    struct passed p = {
        .expired = int64_at(r, row, EXPIRED), .consumed = int64_at(r, row, CONSUMED)};

    p.status = int64_at(r, row, EXAMINED) - eligible - p.expired - p.consumed;
    return p;
}

static void decode_row(const PGresult *r, int i, struct row *row)
{
    row->at = position_at(r, i);
    row->passed = passed_at(r, i, i + 1);
    row->token = (struct token){
        .id = row->at.id,
        .account = int64_at(r, i, ACCOUNT),
        .action = (enum token_action)int32_at(r, i, ACTION),
        .email = field_at(r, i, EMAIL),
        .login = field_at(r, i, LOGIN),
        .secret = field_at(r, i, SECRET),
        .code = field_at(r, i, CODE),
    };
    row->unsendable = line_unsendable(&row->token);
}

static void decode_end(const PGresult *r, int last, int examine, struct batch *b)
{
    b->examined = int64_at(r, last, EXAMINED);
    b->more = b->examined >= examine;
    b->all = !b->more;
    b->horizon = PQgetvalue(r, last, HORIZON)[0] != 0;
    if (b->examined == 0)
        return;
    b->end = position_at(r, last);
    b->passed = passed_at(r, last, b->n);
}

bool batch_decode(struct batch *b, PGresult *r, int wanted, int examine, struct err *e)
{
    batch_clear(b);
    b->result = r;
    if (!session_check(r, e))
        return false;
    int rows = PQntuples(r);
    if (PQnfields(r) != COLUMNS || rows == 0 || rows > wanted)
        return err_set(e, ERR_INTERNAL, "the server's answer to a read makes no sense");
    for (int i = 0; i < rows; i++) {
        if (int32_at(r, i, KIND) == 0) {
            decode_end(r, i, examine, b);
            return true;
        }
        struct row *row = &b->rows[b->n++];
        decode_row(r, i, row);
        b->sendable += !row->unsendable;
        b->end = row->at;
        b->passed = row->passed;
        b->examined = int64_at(r, i, EXAMINED);
        if (b->sendable == b->limit)
            return true;
    }
    return true;
}

struct position batch_end(const struct batch *b, int n, struct passed *passed)
{
    *passed = n == b->n ? b->passed : b->rows[n - 1].passed;
    return n == b->n ? b->end : b->rows[n - 1].at;
}

static int compare_ids(const void *x, const void *y)
{
    const struct row *a = *(const struct row *const *)x, *b = *(const struct row *const *)y;

    return (a->token.id > b->token.id) - (a->token.id < b->token.id);
}

static bool same_secret(const struct row *a, const struct row *b)
{
    const struct field *x = &a->token.secret, *y = &b->token.secret;

    return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

// The rows are in the order of their transactions, whose numbers may have changed
// since (see mailroom_restamp), so they are looked up by id.
int batch_find_written(const struct batch *b, const struct batch *written, int *matched)
{
    size_t n = 0;
    int end = 0;

    for (int i = 0; i < written->n; i++)
        if (!written->rows[i].unsendable)
            written->by_id[n++] = &written->rows[i];
    if (n > 0)
        qsort(written->by_id, n, sizeof *written->by_id, compare_ids);
    *matched = 0;
    for (int i = 0; i < b->n && n > 0; i++) {
        const struct row *row = &b->rows[i];
        const struct row **same =
            bsearch(&row, written->by_id, n, sizeof *written->by_id, compare_ids);
        if (row->unsendable || !same || !same_secret(row, *same))
            continue;
        end = i + 1;
        ++*matched;
    }
    return end;
}
