#include "check/bounds.h"

#include "scenario/leased.h"

static const int64_t default_lease_ms = 30000;     // default of MAILROOM_LEASE
static const int64_t default_grace_ms = 500;       // default of MAILROOM_GRACE
static const int64_t unanswered_ns = 5 * NS_PER_S; // how long a health check waits for its answer

int64_t bounds_grace_ns(const struct scenario *s)
{
    return leased_setting_ns(s, "MAILROOM_GRACE", default_grace_ms);
}

int64_t bounds_hang_ns(const struct scenario *s)
{
    int64_t check_ns =
        leased_setting_ns(s, "MAILROOM_HEALTHCHECK_INTERVAL", scenario_healthcheck_ms(s));

    return clock_min(
        leased_setting_ns(s, "MAILROOM_LEASE", default_lease_ms), check_ns + unanswered_ns);
}

int64_t bounds_handover_ns(const struct scenario *s, const struct verb *v)
{
    return v->ends == ENDS_PROCESSES || v->ends == ENDS_SESSIONS
               ? bounds_grace_ns(s) + bounds_takeover_ns
               : bounds_hang_ns(s);
}

int64_t bounds_return_ns(const struct scenario *s, const struct verb *v)
{
    int64_t returns_ns = scenario_returns_ns(s);

    if (v->silent)
        return s->recovery_limit_ns;
    if (v->hits == HITS_READER)
        return 0;
    // Refused attempts make the next delay longer. A paused process makes no attempts.
    return v->keeps_away && v->hits != HITS_PROCESS ? 2 * returns_ns : returns_ns;
}
