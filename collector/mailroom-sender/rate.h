// Limits how many mails go out: by a token bucket, and by a number a day.
//
// It is pure but for rate_open and rate_count, which keep the day's count in a file, so that a
// sender that is started again goes on with it. Days are those of UTC. A rate of 0 means no limit,
// and so does a daily limit of 0.
#pragma once

#include "base/base.h"

struct rate {
    double per_s;
    double burst;  // how many mails may follow each other at once; at least 1
    double left;   // how many mails the bucket allowed at `at_ns`
    int64_t at_ns; // when `left` was computed, by the monotonic clock
    int64_t daily; // most mails a day; 0: no limit
    int64_t day;   // the day that is counted, in days since 1970
    int64_t today; // how many tries there were on that day
    int fd;        // the file that keeps `day` and `today`; -1: none
};

void rate_init(struct rate *r, double per_s, double burst, int64_t daily, int64_t now_ns);

// Opens the file that keeps the day's count, and reads what an earlier sender counted; with a NULL
// path there is no file. rate_close closes it.
bool rate_open(struct rate *r, const char *path, struct err *e) MUST_USE;
void rate_close(struct rate *r);

// Returns when the next mail may go out, by the monotonic clock: now_ns or later.
int64_t rate_next_ns(struct rate *r, int64_t now_ns);

// True when the day's mails are used up.
bool rate_spent(struct rate *r, int64_t wall_s);

// Counts a try to send a mail. Call it before the try, which counts even if it fails. False: the
// file cannot be written.
bool rate_count(struct rate *r, int64_t now_ns, int64_t wall_s, struct err *e) MUST_USE;
