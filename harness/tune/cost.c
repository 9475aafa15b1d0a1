#include "tune/cost.h"

#include <math.h>

static double cost_number(const json_t *result, const char *object, const char *key)
{
    const json_t *value = json_object_get(json_object_get(result, object), key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

// Converts the seconds for this many tokens to milliseconds per thousand tokens.
static double per_thousand(double seconds, double tokens)
{
    return tokens > 0 ? seconds / tokens * 1e6 : NAN;
}

struct tune_cost cost_of(const json_t *result, bool local)
{
    double tokens = cost_number(result, "tokens", "delivered");
    double backends_s = local ? cost_number(result, "cpu_s", "collector_backends") : NAN;

    return (struct tune_cost){
        .wal_bytes = cost_number(result, "server", "wal_bytes_per_token"),
        .backend_cpu_ms = per_thousand(backends_s, tokens),
        .collector_cpu_ms = per_thousand(cost_number(result, "collector", "cpu_s"), tokens),
        // From a run of its own.
        .round_trips = NAN,
    };
}
