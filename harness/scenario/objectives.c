// The maps `allow`, `judged` and `expect`, whose keys are the metrics of metric.h.
#include "scenario/decode.h"

#include "scenario/metric.h"
#include "scenario/scenario.h"
#include "scenario/units.h"

// Returns the metric that the node's key names; NULL and an error when there is none.
static const struct metric *want_metric(const struct node *n, bool only_invariants, struct err *e)
{
    struct err why;
    const struct metric *metric = metric_named(n->key, only_invariants, &why);

    if (!metric)
        node_key_err(n, e, "%s", why.text);
    return metric;
}

bool objectives_decode_allow(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    struct allowance **items = slot;
    // In the scenario the count stands after the pointer, as for each list of the grammar.
    size_t *count = (size_t *)(items + 1);

    (void)f;
    if (n->kind != NODE_MAP)
        return node_err(n, e, "this should be a map, such as {vanished: any}");
    *items = memory_zeroed(n->count, sizeof **items);
    for (const struct node *item = n->first; item; item = item->next) {
        struct allowance *a = &(*items)[(*count)++];
        // true: among the metrics, only invariants can be broken.
        if (!want_metric(item, true, e) || !check_is_scalar(item, e))
            return false;
        a->invariant = memory_copy(item->key);
        // This is the value of `any`. Anything else must be a number.
        a->most = INT64_MAX;
        if (strcmp(item->text, "any") != 0 && !units_count(item->text, &a->most, e))
            return node_err(item, e, "'%s' should be any or a whole number", item->text);
    }
    return true;
}

bool objectives_decode_judged(
    const struct field *f, const struct node *n, void *slot, struct err *e)
{
    struct judged_least **items = slot;
    size_t *count = (size_t *)(items + 1); // stands after the pointer

    if (n->kind != NODE_MAP)
        return node_err(n, e, "this should be a map, such as {late: 50%%}");
    *items = memory_zeroed(n->count, sizeof **items);
    for (const struct node *item = n->first; item; item = item->next) {
        struct judged_least *j = &(*items)[(*count)++];
        // true: among the metrics, only invariants are judged.
        if (!want_metric(item, true, e) || !decode_share(f, item, &j->share, e))
            return false;
        j->invariant = memory_copy(item->key);
    }
    return true;
}

// Reads the figure that a metric is compared with, in the unit of the metric.
static bool decode_operand(enum metric_unit unit, const char *text, double *value, struct err *e)
{
    int64_t ns;

    switch (unit) {
    case UNIT_PER_S:
        return units_per_second(text, value, e);
    case UNIT_MS:
    case UNIT_S:
        // The file gives times with a unit; the comparison needs them in the unit of the metric.
        if (!units_duration(text, &ns, e))
            return false;
        *value = (double)ns / (unit == UNIT_MS ? 1e6 : 1e9);
        return true;
    case UNIT_COUNT:
    case UNIT_KB:
        break;
    }
    return units_number(text, value, e);
}

bool objectives_decode_expect(
    const struct field *f, const struct node *n, void *slot, struct err *e)
{
    struct expectation **items = slot;
    size_t *count = (size_t *)(items + 1); // stands after the pointer

    (void)f;
    if (n->kind != NODE_MAP)
        return node_err(n, e, "this should be a map, such as {latency.p99: \"< 500ms\"}");
    *items = memory_zeroed(n->count, sizeof **items);
    for (const struct node *item = n->first; item; item = item->next) {
        struct expectation *x = &(*items)[(*count)++];
        const struct metric *metric = want_metric(item, false, e); // false: any metric
        const char *operand;

        if (!metric || !check_is_line(item, e))
            return false;
        x->metric = memory_copy(item->key);
        // The text is kept as well as its parts, because reports quote it as it was written.
        x->want = memory_copy(item->text);
        if (!units_comparison(item->text, x->comparison, &operand, e) ||
            !decode_operand(metric->unit, operand, &x->value, e))
            return node_err_here(item, e);
    }
    return true;
}
