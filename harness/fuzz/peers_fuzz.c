// What a server answers to mailroom_peers. Whatever columns and rows it sends, and however often,
// the answer is refused with a reason, or is noted within our limits. Nobody is freed who was not
// named in the last answer, or before the grace of one that is gone and the lease of one that
// lives.
//
// The input: a byte of flags for each answer, then its rows. A cell is a length (255: null) and so
// many bytes; the number of rows and the milliseconds since the last answer come first.
#include <endian.h>

#include "fuzz/fuzz.h"
#include "loop/work.h"
#include "queue/queue_lines.h"
#include "session/column.h"

#define COLUMNS 11
#define NULL_CELL 255
#define GRACE_MS 500
#define LEASE_MS 3000

enum { JOIN = 1, FEWER_COLUMNS = 2, ERROR = 4, GOOD_STATE = 8, EXCLUSIVE = 16 };

// The linker's --wrap gives it this name. A log of all inputs would take longer than they do.
#define WRAP_OF(name) __wrap_##name
void WRAP_OF(log_line)(const char *tag, const char *fmt, ...);
void WRAP_OF(log_line)(const char *tag, const char *fmt, ...)
{
    FUZZ_MUST(tag && fmt);
}

static void fill_cell(PGresult *r, int row, int column, struct fuzz_bytes *in)
{
    size_t len = fuzz_byte(in);
    char bytes[NULL_CELL];

    for (size_t i = 0; i < len && len != NULL_CELL; i++)
        bytes[i] = (char)fuzz_byte(in);
    FUZZ_MUST(PQsetvalue(r, row, column, bytes, len == NULL_CELL ? -1 : (int)len));
}

static PGresult *make_result(struct fuzz_bytes *in, unsigned flags, int rows)
{
    PGresult *r = PQmakeEmptyPGresult(NULL, flags & ERROR ? PGRES_FATAL_ERROR : PGRES_TUPLES_OK);
    PGresAttDesc named[COLUMNS];
    char name[] = "c", ours[] = "ours";
    int columns = flags & FEWER_COLUMNS ? COLUMNS - 1 : COLUMNS;

    FUZZ_MUST(r);
    if (flags & ERROR)
        return r;
    for (int i = 0; i < COLUMNS; i++)
        named[i] = (PGresAttDesc){.name = name};
    FUZZ_MUST(PQsetResultAttrs(r, columns, named));
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            if (row == 0 && column == 0 && flags & GOOD_STATE)
                FUZZ_MUST(PQsetvalue(r, 0, 0, ours, (int)strlen(ours)));
            else
                fill_cell(r, row, column, in);
    return r;
}

// True when a row of the answer has the number of this owner. The first row is the collector's own.
static bool is_named(const PGresult *r, const struct owner *o)
{
    for (int row = 1; row < PQntuples(r); row++)
        if (column_int64(r, row, 7) == o->number)
            return true;
    return false;
}

// Checks the other collectors that are noted: each once, and named in the last answer. The one that
// is due to be freed has been gone for the grace, or alive and without a sign of life for the
// lease.
static void check_others(struct collector *c, const PGresult *r)
{
    struct owners *all = &c->peers.others;

    FUZZ_MUST(all->n >= 0 && all->n <= OWNERS_MAX);
    for (int i = 0; i < all->n; i++) {
        FUZZ_MUST(is_named(r, &all->all[i]) && all->all[i].since_ns <= c->now_ns);
        for (int j = 0; j < i; j++)
            FUZZ_MUST(all->all[i].number != all->all[j].number);
    }
    struct owner *due = owners_due(all, GRACE_MS * NS_PER_MS, LEASE_MS * NS_PER_MS, c->now_ns);
    if (due)
        FUZZ_MUST(c->now_ns - due->since_ns >= NS_PER_MS * (due->alive ? LEASE_MS : GRACE_MS));
}

static void give_answer(struct collector *c, struct fuzz_bytes *in)
{
    unsigned flags = fuzz_byte(in);
    int rows = (int)fuzz_byte(in) % 41;
    struct err e = {0};

    c->now_ns += 20 * NS_PER_MS * fuzz_byte(in);
    c->queue.policy = policy_find(flags & EXCLUSIVE ? "cursor" : "leased");
    PGresult *r = make_result(in, flags, rows);
    bool ok = flags & JOIN ? peers_on_join(c, r, &e) : peers_on_peers(c, r, &e);
    if (!ok) {
        FUZZ_MUST(e.kind != ERR_NONE && e.text[0]);
    } else if (!(flags & JOIN)) {
        fuzz_accept();
        check_others(c, r);
    }
    FUZZ_MUST(memchr(c->queue.seen.holder, 0, sizeof c->queue.seen.holder));
    PQclear(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    struct config config = {.grace_ms = GRACE_MS,
        .lease_ms = LEASE_MS,
        .healthcheck_interval_ms = 1000,
        .leased = {.in_flight = 8}};
    struct collector c = {
        .config = &config, .now_ns = NS_PER_S, .queue = {.name = "q", .limit = 10}};
    struct err e = {0};

    c.queue.policy = policy_find("leased");
    FUZZ_MUST(window_init(&c.window, 10, NS_PER_S, &e) && lines_init(&c.lines, 8, 10, &e));
    while (in.left > 0)
        give_answer(&c, &in);
    lines_fini(&c.lines);
    window_fini(&c.window);
    return 0;
}

// --- seeds --------------------------------------------------------------------------------

static size_t put(uint8_t *data, size_t len, const void *cell, size_t n)
{
    data[len] = (uint8_t)n;
    memcpy(data + len + 1, cell, n);
    return len + 1 + n;
}

// Puts a bigint, as a binary answer has it.
static size_t put_number(uint8_t *data, size_t len, uint64_t number)
{
    uint64_t big = htobe64(number);

    return put(data, len, &big, sizeof big);
}

// Makes two answers that name other collectors, one in four of them gone; in the last seed more of
// them than are kept.
size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    unsigned others = index == 2 ? 39 : 4;
    size_t len = 0;

    if (index > 2)
        return 0;
    FUZZ_MUST(size >= (size_t)1 << 12);
    *good = true;
    for (int turn = 0; turn < 2; turn++) {
        data[len++] = GOOD_STATE | (index == 1 && turn == 0 ? JOIN : 0);
        data[len++] = (uint8_t)(1 + others);
        data[len++] = 40;
        len = put(data, put_number(data, len, 1), "me", 2);
        len = put(data, put_number(data, len, 5), "\1", 1);
        len = put_number(data, put(data, len, "activation", 10), 3);
        for (int i = 0; i < 4; i++)
            len = put(data, len, "", 0);
        for (unsigned other = 0; other < others; other++) {
            len = put(data, len, "other", 5);
            for (int i = 0; i < 6; i++)
                len = put(data, len, "", 0);
            len = put_number(data, put_number(data, len, 17 + other), 4);
            len = put(data, put(data, len, other % 4 ? "\1" : "", 1), "\1", 1);
        }
    }
    return len;
}
