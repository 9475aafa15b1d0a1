#include "queue/outbox.h"

#define STATEMENT_MAX 2000                    // most results in a statement
#define COLUMN_MAX ((size_t)64 * 1024 * 1024) // most bytes of a column's text

enum { ROW, NONCE, TOKEN, NUMBER, OUTCOME, TEXT, DELAY, ALONE };

static const char *const kinds[] = {
    [RESULT_SENT] = "sent",
    [RESULT_TRANSIENT] = "transient",
    [RESULT_DEAD] = "dead",
    [RESULT_RETURNED] = "returned",
    [RESULT_LATE] = "late",
};

void outbox_init(struct outbox *o)
{
    *o = (struct outbox){0};
    for (int i = 0; i < OUTBOX_COLUMNS; i++)
        buf_init(&o->columns[i], COLUMN_MAX);
}

void outbox_fini(struct outbox *o)
{
    for (int i = 0; i < OUTBOX_COLUMNS; i++)
        buf_fini(&o->columns[i]);
    free(o->results);
    *o = (struct outbox){0};
}

size_t outbox_left(const struct outbox *o)
{
    return o->count - o->first;
}

bool outbox_sends_all(const struct outbox *o)
{
    return o->sent == outbox_left(o);
}

bool outbox_knows(const struct outbox *o, int64_t row, int64_t nonce)
{
    for (size_t i = o->first; i < o->count; i++)
        if (o->results[i].row == row && o->results[i].nonce == nonce)
            return true;
    return false;
}

bool outbox_add(struct outbox *o, const struct outbox_result *r, struct err *e)
{
    // The room of confirmed results is used again before more is allocated.
    if (o->first > 0 && o->count == o->cap) {
        o->count -= o->first;
        memmove(o->results, o->results + o->first, o->count * sizeof *o->results);
        o->first = 0;
    }
    if (o->count == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 64;
        struct outbox_result *more = realloc(o->results, cap * sizeof *more);
        if (!more)
            return err_memory_for(e, "%zu answers", cap);
        o->results = more;
        o->cap = cap;
    }
    o->results[o->count++] = *r;
    return true;
}

// Appends a text in quotes, as an array literal needs it. The text is printable ASCII.
static void add_text(struct buf *b, const char *text)
{
    buf_append_char(b, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_append_char(b, '\\');
        buf_append_char(b, *text);
    }
    buf_append_char(b, '"');
}

// Appends a result to each of the arrays.
static void add_result(struct buf c[OUTBOX_COLUMNS], const struct outbox_result *r)
{
    for (int i = 0; i < OUTBOX_COLUMNS; i++)
        if (c[i].len > 1) // more than the opening brace
            buf_append_char(&c[i], ',');
    buf_printf(&c[ROW], "%" PRId64, r->row);
    buf_printf(&c[NONCE], "%" PRId64, r->nonce);
    buf_printf(&c[TOKEN], "%" PRId64, r->token);
    buf_printf(&c[NUMBER], "%d", r->number);
    buf_append_str(&c[OUTCOME], kinds[r->kind]);
    add_text(&c[TEXT], r->text);
    buf_printf(&c[DELAY], "%" PRId64, r->delay_ms);
    buf_append_char(&c[ALONE], r->alone ? 't' : 'f');
}

bool outbox_send(struct outbox *o, const char *columns[OUTBOX_COLUMNS], struct err *e)
{
    // An outage may leave many results. A statement with all of them might exceed the timeout again
    // and again, and then no result would ever be recorded.
    size_t n = outbox_left(o) < STATEMENT_MAX ? outbox_left(o) : STATEMENT_MAX;

    assert(o->sent == 0 && n > 0);
    for (int i = 0; i < OUTBOX_COLUMNS; i++) {
        buf_clear(&o->columns[i]);
        buf_append_char(&o->columns[i], '{');
    }
    for (size_t i = 0; i < n; i++)
        add_result(o->columns, &o->results[o->first + i]);
    for (int i = 0; i < OUTBOX_COLUMNS; i++) {
        buf_append_char(&o->columns[i], '}');
        columns[i] = buf_str(&o->columns[i]);
        if (!columns[i])
            return err_memory_for(e, "%zu answers", n);
    }
    o->sent = n;
    return true;
}

void outbox_confirmed(struct outbox *o)
{
    o->first += o->sent;
    o->sent = 0;
    if (o->first == o->count)
        o->first = o->count = 0;
}

void outbox_lost(struct outbox *o)
{
    o->sent = 0;
}
