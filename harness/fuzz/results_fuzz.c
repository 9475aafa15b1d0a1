// Any stored results are either refused or can be compared. The printed comparison has exactly its
// fields.
//
// The input: texts of result.json, each ended by a NUL. They belong in turn to one side and to the
// other.
#include <ctype.h>

#include <jansson.h>
#include <math.h>

#include "compare/compare.h"
#include "fuzz/fuzz.h"

#define RUNS_MAX 8
#define PRINTED_MAX ((size_t)1 << 20)

static size_t count_in(const char *text, size_t len, char c)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += text[i] == c;
    return count;
}

// Checks that every line that begins with `first` (NUL: any line) has this many separators.
static void check_fields(const struct buf *text, char first, char separator, size_t count)
{
    const char *at = text->data, *end = at + text->len;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        FUZZ_MUST(newline);
        if (!first || *at == first)
            FUZZ_MUST(count_in(at, (size_t)(newline - at), separator) == count);
        at = newline + 1;
    }
}

static void check_csv(const struct comparison *c)
{
    struct buf out;

    buf_init(&out, PRINTED_MAX);
    FUZZ_MUST(print_csv(c, 1, &out));
    FUZZ_MUST(count_in(out.data, out.len, '\n') == c->row_count + 1);
    check_fields(&out, '\0', ',', 11);
    buf_fini(&out);
}

static void check_json(const struct comparison *c)
{
    struct buf out;
    size_t rows = 0;

    // JSON has no rates and no values that are not numbers.
    for (size_t i = 0; i < c->row_count; i++)
        rows += metrics[c->rows[i].id].unit != UNIT_PER_S && isfinite(c->rows[i].new);
    buf_init(&out, PRINTED_MAX);
    FUZZ_MUST(print_json(c, 1, &out));
    json_t *root = json_loadb(out.data, out.len, 0, NULL);
    FUZZ_MUST(json_array_size(root) == rows);
    json_decref(root);
    buf_fini(&out);
}

static void check_text(const struct comparison *c)
{
    struct buf out;

    buf_init(&out, PRINTED_MAX);
    FUZZ_MUST(print_markdown(c, &out));
    check_fields(&out, '|', '|', 8);
    FUZZ_MUST(print_terminal(c, &out));
    for (size_t i = 0; i < out.len; i++)
        FUZZ_MUST(out.data[i] == '\n' || !iscntrl((unsigned char)out.data[i]));
    buf_fini(&out);
}

static enum change other_way(enum change change)
{
    return change == CHANGE_BETTER ? CHANGE_WORSE : change;
}

static void check_comparison(const struct side *base, const struct side *new)
{
    struct comparison c, back, same;
    struct err e = {0};

    FUZZ_MUST(compare_sides(&c, base, new, 0.1, &e));
    check_csv(&c);
    check_json(&c);
    check_text(&c);
    // Each side may break an invariant that the other keeps. Then the comparison says worse in both
    // directions.
    FUZZ_MUST(compare_sides(&back, new, base, 0.1, &e));
    FUZZ_MUST(c.row_count == back.row_count && c.base_failed.any == back.new_failed.any);
    if (c.correctness != CHANGE_WORSE)
        FUZZ_MUST(back.correctness == other_way(c.correctness));
    FUZZ_MUST(compare_sides(&same, base, base, 0.1, &e));
    FUZZ_MUST(same.overall == CHANGE_NONE || same.overall == CHANGE_UNKNOWN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct side sides[2] = {{.name = "base"}, {.name = "new"}};
    char *text = malloc(size + 1), *at = text;
    struct stored run;
    struct err e = {0};

    FUZZ_MUST(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < RUNS_MAX && at < text + size; at += strlen(at) + 1, i++) {
        if (stored_parse(&run, at, strlen(at), &e))
            side_add(&sides[i % 2], &run);
        else
            FUZZ_MUST(e.kind == ERR_USAGE && e.text[0]);
    }
    if (sides[0].count > 0 && sides[1].count > 0) {
        fuzz_accept();
        check_comparison(&sides[0], &sides[1]);
    }
    side_fini(&sides[0]);
    side_fini(&sides[1]);
    free(text);
    return 0;
}
