// The settings of the collector, which it reads from the environment.
#pragma once

#include "base/base.h"

#define SETTINGS_KEY_LEN 32

struct settings {
    const char *database_url;
    const char *channel;
    const char *queue;
    int64_t healthcheck_ns;
    int64_t timeout_ns;
    int limit;
    int64_t grace_ns;
    int64_t rate; // ZOO_RATE: tokens per second that the collector sustains; 0: no limit
    bool shares;  // MAILROOM_DEQUEUE=shared
    bool leases;  // MAILROOM_DEQUEUE=leased; only this mode uses the fields from here to ageing_s
    int64_t retry_base_ms, retry_max_ms;
    int attempts, in_flight;
    double budget_per_s; // e-mails per second; 0: there is no budget
    double burst;
    int64_t ageing_s;
    uint8_t key[SETTINGS_KEY_LEN];
};

// Loads the settings. The strings belong to the environment. False with ERR_USAGE when a value is
// bad.
bool settings_load(struct settings *s, struct err *e) MUST_USE;
