#include "scenario/leased.h"

// Returns the number with which this variable begins in the collector's environment, such as the 40
// of "40/s", but at most `max`. Text that is no number counts as 0 here; the collector refuses it.
static double env_number(
    const struct scenario *s, const char *name, double default_value, double max)
{
    const char *text = settings_value(&s->collector.env, name);
    double value = text ? strtod(text, NULL) : default_value;

    if (value > max)
        return max;
    return value > 0 ? value : 0;
}

// Returns a count of at most 1,000: the collector refuses more, and the checks have room for that
// many.
static int env_count(const struct scenario *s, const char *name, double default_value)
{
    return (int)env_number(s, name, default_value, 1000);
}

int64_t leased_setting_ns(const struct scenario *s, const char *name, int64_t default_ms)
{
    const double days_100 = 100 * 86400e3; // the most, so that the result fits into 64 bits

    return (int64_t)(env_number(s, name, (double)default_ms, days_100) * (double)NS_PER_MS);
}

void leased_read(struct leased *m, const struct scenario *s)
{
    const double tokens_max = 1e6; // the collector refuses more for its budget and burst

    *m = (struct leased){
        .on = s->collector.dequeue == DEQUEUE_LEASED,
        .attempts = env_count(s, "MAILROOM_ATTEMPTS", 8),
        .in_flight = env_count(s, "MAILROOM_IN_FLIGHT", 4),
        .answer_timeout_ns = leased_setting_ns(s, "MAILROOM_ANSWER_TIMEOUT", 60000),
        .retry_base_ns = leased_setting_ns(s, "MAILROOM_RETRY_BASE", 1000),
        .retry_max_ns = leased_setting_ns(s, "MAILROOM_RETRY_MAX", 900000),
        .budget_per_s = env_number(s, "MAILROOM_BUDGET", 0, tokens_max),
        .burst = env_number(s, "MAILROOM_BURST", 50, tokens_max),
        .lanes = settings_value(&s->collector.env, "MAILROOM_LANES"),
        .ageing_ns = leased_setting_ns(s, "MAILROOM_AGEING", 30000),
    };
}

int64_t leased_longest_delay_ns(const struct leased *m, int errors)
{
    int64_t delay_ns = m->retry_base_ns;

    for (int i = 0; i < errors && delay_ns < m->retry_max_ns; i++)
        delay_ns *= 2;
    return clock_min(delay_ns, m->retry_max_ns);
}
