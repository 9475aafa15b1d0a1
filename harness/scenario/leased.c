#include "scenario/leased.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const char *lookup(const struct scenario *s, const char *name)
{
    for (size_t i = 0; i < s->collector.env.count; i++)
        if (strcmp(s->collector.env.items[i].name, name) == 0)
            return s->collector.env.items[i].value;
    return NULL;
}

// Returns a number of the environment, at most `most`. The collector refuses what is no number;
// here it is 0.
static double number(const struct scenario *s, const char *name, double default_value, double most)
{
    const char *text = lookup(s, name);
    double value = text ? strtod(text, NULL) : default_value;

    return value > most ? most : value > 0 ? value : 0;
}

static int count(const struct scenario *s, const char *name, double default_value)
{
    return (int)number(s, name, default_value, 1e9);
}

static int64_t ms(const struct scenario *s, const char *name, double default_value)
{
    const double days_100 = 100 * 86400e3;

    return (int64_t)(number(s, name, default_value, days_100) * (double)NS_PER_MS);
}

void leased_read(struct leased *m, const struct scenario *s)
{
    *m = (struct leased){
        .on = s->collector.dequeue == DEQUEUE_LEASED,
        .attempts = count(s, "MAILROOM_ATTEMPTS", 8),
        .in_flight = count(s, "MAILROOM_IN_FLIGHT", 4),
        .answer_timeout_ns = ms(s, "MAILROOM_ANSWER_TIMEOUT", 60000),
        .retry_base_ns = ms(s, "MAILROOM_RETRY_BASE", 1000),
        .retry_max_ns = ms(s, "MAILROOM_RETRY_MAX", 900000),
        .budget_per_s = number(s, "MAILROOM_BUDGET", 0, 1e9),
        .burst = number(s, "MAILROOM_BURST", 50, 1e9),
        .lanes = lookup(s, "MAILROOM_LANES"),
        .ageing_ns = ms(s, "MAILROOM_AGEING", 30000),
    };
}

int64_t leased_most_ns(const struct leased *m, int errors)
{
    int64_t most = m->retry_base_ns;

    for (int i = 0; i < errors && most < m->retry_max_ns; i++)
        most *= 2;
    return most < m->retry_max_ns ? most : m->retry_max_ns;
}
