// What a server answers to a read of the queue. Whatever columns, lengths and rows it sends, the
// answer is refused, or is a batch within its limits of which each line can be made.
//
// The input: how many columns, wanted tokens and the limit, a byte each; then the cells, row by
// row. A cell is a length (255: null) and so many bytes.
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "fuzz/fuzz.h"
#include "fuzz/key.h"

#define ROWS_MAX 300
#define COLUMNS 12 // of a read
#define NULL_CELL 255

static void fill_cell(PGresult *r, int row, int column, struct fuzz_bytes *in)
{
    size_t len = fuzz_byte(in);
    char bytes[NULL_CELL];

    for (size_t i = 0; i < len && len != NULL_CELL; i++)
        bytes[i] = (char)fuzz_byte(in);
    FUZZ_MUST(PQsetvalue(r, row, column, bytes, len == NULL_CELL ? -1 : (int)len));
}

static PGresult *make_result(struct fuzz_bytes *in, int columns)
{
    PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc named[COLUMNS + 3];
    char name[] = "c";

    FUZZ_MUST(r);
    for (int i = 0; i < columns; i++)
        named[i] = (PGresAttDesc){.name = name, .format = 1};
    FUZZ_MUST(columns == 0 || PQsetResultAttrs(r, columns, named));
    for (int row = 0; columns > 0 && in->left > 0 && row < ROWS_MAX; row++) {
        for (int column = 0; column < columns; column++)
            fill_cell(r, row, column, in);
    }
    return r;
}

static void check_line(const struct batch *b, struct sign *sign)
{
    struct buf line;
    struct err e = {0};

    buf_init(&line, 1 << 20);
    for (int i = 0; i < b->n; i++) {
        const struct token *t = &b->rows[i].token;
        if (b->rows[i].unsendable)
            continue;
        FUZZ_MUST(t->action == TOKEN_ACTIVATION || t->action == TOKEN_PASSWORD_RECOVERY);
        FUZZ_MUST(t->secret.len == SIGN_SECRET_LEN && (!t->code.data || t->code.len == 5));
        FUZZ_MUST(line_add(&line, sign, t, &e));
    }
    buf_fini(&line);
}

static void check_batch(struct batch *b, int wanted)
{
    struct sign sign;
    struct err e = {0};

    FUZZ_MUST(b->n <= wanted && b->n <= b->room && b->sendable <= b->limit && b->sendable <= b->n);
    FUZZ_MUST(sign_init(&sign, fuzz_key, &e));
    check_line(b, &sign);
    if (b->sendable > 1) {
        batch_cut(b, b->sendable / 2);
        FUZZ_MUST(b->sendable >= 1 && b->n >= b->sendable);
        check_line(b, &sign);
    }
    sign_fini(&sign);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    const struct doubt none = {0};
    struct batch b;
    struct err e = {0};

    int columns = fuzz_byte(&in) % (COLUMNS + 3), wanted = 1 + fuzz_byte(&in);
    int limit = 1 + fuzz_byte(&in) % wanted;
    batch_init(&b, limit);
    if (batch_decode(&b, make_result(&in, columns), BATCH_CURSOR, wanted, 1000, &none, &e)) {
        fuzz_accept();
        check_batch(&b, wanted);
    } else {
        FUZZ_MUST(e.kind != ERR_NONE && e.text[0]);
    }
    batch_fini(&b);
    return 0;
}

// --- seeds --------------------------------------------------------------------------------

struct seed {
    uint8_t *at;
    size_t len, size;
};

static void put(struct seed *s, const void *bytes, size_t len)
{
    FUZZ_MUST(s->len + len + 1 <= s->size);
    s->at[s->len++] = (uint8_t)len;
    memcpy(s->at + s->len, bytes, len);
    s->len += len;
}

static void put_number(struct seed *s, uint64_t value, size_t bytes)
{
    uint8_t big[8];

    for (size_t i = 0; i < bytes; i++)
        big[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    put(s, big, bytes);
}

static void put_row(struct seed *s, uint32_t what, uint64_t id, const char *code)
{
    put_number(s, what, 4);
    put_number(s, 1, 4);  // part
    put_number(s, 90, 8); // to_xid
    put_number(s, 80, 8); // xid
    put_number(s, id, 8);
    put(s, "a@b.example", 11);
    put(s, "login", 5);
    put(s, "0123456789abcdef0123456789ABCDEF", 32);
    put(s, code, strlen(code));
    put_number(s, id, 8); // examined
    put_number(s, 0, 8);  // expired
    put_number(s, 0, 8);  // consumed
}

size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    struct seed s = {data, 3, size};

    if (index > 1)
        return 0;
    *good = true;
    memcpy(data, (const uint8_t[]){COLUMNS, 9, 4}, 3);
    put_row(&s, 3, 7, "");
    for (uint64_t id = 1; id <= 4; id++)
        put_row(&s, id % 2 ? 1 : 2, id, id % 2 ? "" : "01234");
    if (index == 1)
        put_row(&s, 0, 9, "");
    return s.len;
}
