#include "tune/queries.h"

#include <math.h>

#define HEAD "kind,tokens,ms\n"

// Least number of batches from which a time is drawn: enough to show how the times vary, but few
// enough that all these batches have about the same size.
static const size_t neighbours = 100;

void queries_add(struct query_list *list, uint32_t tokens, int64_t ns)
{
    memory_grow(&list->items, list->count, 1, sizeof *list->items);
    list->items[list->count++] = (struct query_time){tokens, ns};
}

static void append_queries(struct query_list *to, const struct query_list *from)
{
    for (size_t i = 0; i < from->count; i++)
        queries_add(to, from->items[i].tokens, from->items[i].ns);
}

void queries_join(struct queries *to, const struct queries *from)
{
    append_queries(&to->reads, &from->reads);
    append_queries(&to->turns, &from->turns);
}

static int by_tokens(const void *a, const void *b)
{
    const struct query_time *x = a, *y = b;

    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static void sort_by_tokens(struct query_list *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_tokens);
}

void queries_ready(struct queries *q)
{
    // If no batch, or every batch, had to wait for the previous line, only one of the lists has
    // times. Use them for the other list, too, because both kinds take about as long.
    if (q->reads.count == 0)
        append_queries(&q->reads, &q->turns);
    if (q->turns.count == 0)
        append_queries(&q->turns, &q->reads);
    sort_by_tokens(&q->reads);
    sort_by_tokens(&q->turns);
}

// Returns the index of the first batch with at least this many tokens; the number of batches if
// there is none.
static size_t lower_bound(const struct query_list *list, uint32_t tokens)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].tokens < tokens)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Draws from the batches of exactly this size (from `from` up to but not including `to`) if there
// are enough. Otherwise the nearest smaller and larger batches take part, too, about as many of
// each.
int64_t queries_draw(const struct query_list *list, uint32_t tokens, struct rng *rng)
{
    size_t from = lower_bound(list, tokens), to = lower_bound(list, tokens + 1);

    assert(list->count > 0);
    if (to - from < neighbours) {
        size_t on_each_side = (neighbours - (to - from) + 1) / 2;
        from = from > on_each_side ? from - on_each_side : 0;
        to = list->count - to > on_each_side ? to + on_each_side : list->count;
    }
    // Draw a time instead of taking the average, because the long times make the p99.
    return list->items[from + rng_below(rng, to - from)].ns;
}

static void print_list(const struct query_list *list, const char *kind, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++)
        buf_printf(out, "%s,%" PRIu32 ",%.6f\n", kind, list->items[i].tokens,
            (double)list->items[i].ns / NS_PER_MS);
}

bool queries_print_csv(const struct queries *q, struct buf *out)
{
    buf_append_str(out, HEAD);
    print_list(&q->reads, "read", out);
    print_list(&q->turns, "turn", out);
    return !out->failed;
}

// Parses a line such as "read,10,0.52": for a batch of 10 tokens the "read" took 0.52 ms.
static bool parse_query_time(struct queries *q, const char *text, size_t line, struct err *e)
{
    char kind[8], end;
    uint32_t tokens;
    double ms;

    // A newline must follow the number, so that no text after it is ignored. 1e9 ms are 12 days,
    // and fit into int64_t as ns.
    bool ok = sscanf(text, "%4[a-z],%" SCNu32 ",%lf%c", kind, &tokens, &ms, &end) == 4 &&
              end == '\n' && ms >= 0 && ms < 1e9 &&
              (strcmp(kind, "read") == 0 || strcmp(kind, "turn") == 0);
    if (!ok)
        return err_set(e, ERR_USAGE, "line %zu is not like 'read,10,0.52'", line);
    struct query_list *list = strcmp(kind, "read") == 0 ? &q->reads : &q->turns;
    queries_add(list, tokens, (int64_t)(ms * NS_PER_MS));
    return true;
}

bool queries_parse_csv(struct queries *q, const char *text, struct err *e)
{
    size_t line = 1;

    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        return err_set(e, ERR_USAGE, "line 1 is not '%.*s'", (int)strlen(HEAD) - 1, HEAD);
    for (const char *at = strchr(text, '\n') + 1; *at; at = strchr(at, '\n') + 1) {
        if (!strchr(at, '\n'))
            return err_set(e, ERR_USAGE, "line %zu is cut off", line + 1);
        if (!parse_query_time(q, at, ++line, e))
            return false;
    }
    return line > 1 || err_set(e, ERR_USAGE, "no batch shows how long a query takes");
}

double queries_median_ms(const struct query_list *list)
{
    if (list->count == 0)
        return NAN;
    int64_t *ns FREED_BY(memory_free) = memory_allocate(list->count * sizeof *ns);
    for (size_t i = 0; i < list->count; i++)
        ns[i] = list->items[i].ns;
    qsort(ns, list->count, sizeof *ns, clock_compare);
    size_t middle = list->count / 2;
    return (double)ns[middle] / NS_PER_MS;
}

void queries_fini(struct queries *q)
{
    free(q->reads.items);
    free(q->turns.items);
    *q = (struct queries){0};
}
