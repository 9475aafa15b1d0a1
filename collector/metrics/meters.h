// The figures that MAILROOM_METRICS shows: one table of them, and their text. Pure.
//
// Counters begin at 0 with the process. A gauge that was never measured is NAN and is left out, and
// so are the figures that the mode does not have.
#pragma once

#include "settings/policy.h"

enum meter_id {
    METER_BATCHES_FULL,
    METER_BATCHES_TIMEOUT,
    METER_BATCHES_START,
    METER_BATCHES_LEFT_OVER,
    METER_BATCHES_SCAN,
    METER_BATCHES_BUDGET,
    METER_TOKENS_WRITTEN,
    METER_TOKENS_EXPIRED,
    METER_TOKENS_CONSUMED,
    METER_TOKENS_STATUS,
    METER_TOKENS_DEAD_LETTER,
    METER_TOKENS_SETTLED,
    METER_TOKENS_SENT,
    METER_TOKENS_RETRY,
    METER_TOKENS_DEAD,
    METER_TOKENS_RETURNED,
    METER_TOKENS_LATE,
    METER_RETRIES,
    METER_SENDER_STARTS,
    METER_RECONNECTS_ENDED,
    METER_RECONNECTS_REFUSED,
    METER_RECONNECTS_SILENT,
    METER_RECONNECTS_COMPLAINT,
    METER_CONNECTED,
    METER_COLLECTING,
    METER_LAST_LINE,
    METER_LINES_UNANSWERED,
    METER_ANSWER_AWAITED,
    METER_BACKLOG_SCHEDULED,
    METER_BACKLOG_LEASED,
    METER_BACKLOG_RETRY,
    METER_OLDEST_TOKEN,
    METER_OLDEST_LEASE,
    METER_BUDGET_LEFT,
    METER_BUDGET_TODAY,
    METER_LOOK_AGE,
    METER_STARTED,
    METERS,
};

// How many buckets the histogram of waits has. Their bounds, in meters.c, are limits that service
// objectives often name. They never change, because OpenMetrics wants that.
#define WAIT_BUCKETS 16

struct meters {
    double of[METERS];
    struct wait { // how long tokens waited, in seconds
        double counts[WAIT_BUCKETS], count, sum;
    } wait;
};

void meters_init(struct meters *m);
// Sets the figures `from` to `to`, both included, to NAN.
void meters_forget(struct meters *m, enum meter_id from, enum meter_id to);

static inline void meters_add(struct meters *m, enum meter_id id, double n)
{
    m->of[id] += n;
}

// Counts a token that waited for this long before it went out.
void meters_waited(struct meters *m, double seconds);

// Appends all figures of a collector of this queue and mode as OpenMetrics text. False: the buffer
// is too small.
bool meters_render(
    const struct meters *m, const char *queue, const struct policy *mode, struct buf *out);

void meters_markdown(FILE *out); // prints the table of METRICS.md
