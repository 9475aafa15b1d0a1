// What a server answers to a take. Whatever lengths and rows it sends, the answer is refused, or is
// some lines within their limits, each of which can be made.
//
// The input: the limit and the number of lines, a byte each; then the cells, row by row. A cell is
// a length (255: null) and so many bytes.
#include "fuzz/fuzz.h"
#include "queue/lines.h"
#include "queue/lines_columns.h"

#define ROWS_MAX 300
#define NULL_CELL 255

static void fill_cell(PGresult *r, int row, int column, struct fuzz_bytes *in)
{
    size_t len = fuzz_byte(in);
    char bytes[NULL_CELL];

    for (size_t i = 0; i < len && len != NULL_CELL; i++)
        bytes[i] = (char)fuzz_byte(in);
    FUZZ_MUST(PQsetvalue(r, row, column, bytes, len == NULL_CELL ? -1 : (int)len));
}

static PGresult *make_result(struct fuzz_bytes *in)
{
    PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc named[LINES_COLUMNS];
    char name[] = "c";

    FUZZ_MUST(r);
    for (int i = 0; i < LINES_COLUMNS; i++)
        named[i] = (PGresAttDesc){.name = name, .format = 1};
    FUZZ_MUST(PQsetResultAttrs(r, LINES_COLUMNS, named));
    for (int row = 0; in->left > 0 && row < ROWS_MAX; row++)
        for (int column = 0; column < LINES_COLUMNS; column++)
            fill_cell(r, row, column, in);
    return r;
}

static void check_lines(struct lines *l)
{
    struct sign sign;
    struct err e = {0};

    lines_validate(l);
    FUZZ_MUST(sign_init(&sign, fuzz_key, &e));
    for (int i = 0; i < l->count; i++) {
        struct line *line = &l->all[i];
        FUZZ_MUST(line->count <= l->limit && line->sendable <= line->count);
        FUZZ_MUST(line->state == LINE_FREE || lines_build(line, &sign, &e));
        FUZZ_MUST((line->sendable > 0) == (line->text.len > 0));
    }
    sign_fini(&sign);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    const struct doubt none = {0};
    struct lines l;
    struct err e = {0};

    int limit = 1 + fuzz_byte(&in), count = 1 + fuzz_byte(&in) % 16;
    FUZZ_MUST(lines_init(&l, count, limit, &e));
    PGresult *r = make_result(&in);
    if (lines_add_answer(&l, r, PQntuples(r), 1, &none, &e)) {
        fuzz_accept();
        check_lines(&l);
    } else {
        FUZZ_MUST(e.kind != ERR_NONE && e.text[0]);
    }
    lines_fini(&l);
    return 0;
}

// --- seeds --------------------------------------------------------------------------------

struct seed {
    uint8_t *at;
    size_t len, size;
};

// Appends a cell: its length in a byte, then its bytes.
static void put(struct seed *s, const void *bytes, size_t len)
{
    FUZZ_MUST(s->len + len + 1 <= s->size);
    s->at[s->len++] = (uint8_t)len;
    memcpy(s->at + s->len, bytes, len);
    s->len += len;
}

// Appends a cell with a number, its highest byte first.
static void put_number(struct seed *s, uint64_t value, size_t bytes)
{
    uint8_t big[8];

    for (size_t i = 0; i < bytes; i++)
        big[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    put(s, big, bytes);
}

static void put_row(struct seed *s, uint32_t kind, uint64_t line, uint64_t id, const char *code)
{
    put_number(s, kind, 4);
    put_number(s, line, 8);
    put_number(s, 77, 8); // nonce
    put_number(s, id, 8);
    put_number(s, 1, 4); // number
    put_number(s, 0, 4); // errors
    put(s, "a@b.example", 11);
    put(s, "login", 5);
    put(s, "0123456789abcdef0123456789ABCDEF", 32);
    put(s, code, strlen(code));
    for (int column = LINES_MORE; column < LINES_COLUMNS; column++)
        put(s, "", 0);
}

// Makes an answer with four tokens in two lines; in the second seed, a lost line follows.
size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    struct seed s = {data, 2, size};

    if (index > 1)
        return 0;
    *good = true;
    memcpy(data, (const uint8_t[]){9, 4}, 2);
    put_row(&s, LINES_HEAD, 0, 0, "");
    for (uint64_t id = 1; id <= 4; id++)
        put_row(&s, id % 2 ? 1 : 2, 5 + id / 3, id, id % 2 ? "" : "01234");
    if (index == 1)
        put_row(&s, LINES_LOST, 9, 0, "");
    return s.len;
}
