#include "tune/cost.h"

#include <jansson.h>
#include <math.h>

static double number(json_t *root, const char *object, const char *key)
{
    json_t *value = json_object_get(json_object_get(root, object), key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

// Milliseconds per thousand of what took so many seconds for all.
static double per_thousand(double seconds, double tokens)
{
    return tokens > 0 ? seconds / tokens * 1e6 : NAN;
}

bool cost_parse(struct tune_cost *c, const char *text, size_t len, bool local, struct err *e)
{
    json_error_t wrong;
    json_t *root = json_loadb(text, len, 0, &wrong);

    if (!root)
        return err_set(e, ERR_USAGE, "not JSON: line %d: %s", wrong.line, wrong.text);
    double tokens = number(root, "tokens", "delivered");
    *c = (struct tune_cost){
        .wal_bytes = number(root, "server", "wal_bytes_per_token"),
        .backend_cpu_ms =
            local ? per_thousand(number(root, "cpu_s", "collector_backends"), tokens) : NAN,
        .collector_cpu_ms = per_thousand(number(root, "collector", "cpu_s"), tokens),
        .round_trips = NAN,
    };
    json_decref(root);
    return true;
}
