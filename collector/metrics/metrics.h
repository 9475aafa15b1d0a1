// MAILROOM_METRICS: shows the collector's figures over HTTP or in a file.
//
// The collector's loop calls metrics_serve at the end of each round, after it has dealt with mail.
// No function but metrics_open waits, and no failure after the start ends the collector.
#pragma once

#include "base/scrape.h"
#include "metrics/look.h"
#include "metrics/meters.h"
#include "settings/config.h"

#define METRICS_FDS (SCRAPE_FDS + 1)

struct metrics {
    enum metrics_kind { METRICS_OFF, METRICS_SERVED, METRICS_FILE } kind;
    const struct config *config; // borrowed
    struct meters meters;        // here the other modules count what they do
    struct scrape scrape;
    struct look look;
    struct buf text;
    int64_t file_at_ns; // when the file is due
    bool complained;    // the log says already that the file cannot be written
};

// Opens what MAILROOM_METRICS names; nothing when it is not set. ERR_USAGE names the setting.
bool metrics_open(struct metrics *m, const struct config *config, struct err *e) MUST_USE;
void metrics_close(struct metrics *m);

// True where a file or a Unix socket has to be replaced or removed later.
bool metrics_keeps_files(const struct metrics *m);

// Answers scrapers, or writes the file when it is due. `up`: the collector has a session that
// works. Returns when to call it again at the latest.
int64_t metrics_serve(struct metrics *m, bool up, int64_t now_ns);
// Fills in what the owner polls before it calls metrics_serve.
void metrics_poll(const struct metrics *m, struct pollfd fds[METRICS_FDS]);

// Counts a line that was written for this reason, with this many tokens.
void metrics_line(struct metrics *m, enum meter_id reason, int tokens);
// Counts how long a token waited. CLOCK_NEVER as since_ns: that is not known, and is not counted.
void metrics_waited(struct metrics *m, int64_t since_ns, int64_t now_ns);
