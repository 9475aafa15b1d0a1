// Decides how far back a look must search for tokens that are to be tried again. Pure.
//
// Under an old snapshot the database keeps the index entries of all retries that are over, so a
// look at everything that is due costs more and more. Usually a look goes back to the last one that
// left nothing, and a little further. But a token may be committed long after it came due, or the
// server's clock may be set: so everything is looked at now and then, whatever happens in between.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct due {
    int64_t complete_ns; // all that was due before this time was taken; CLOCK_NEVER: unknown
    int64_t all_at_ns;   // when to look at everything next
    bool all;            // the look under way is at everything
};

void due_restart(struct due *d);

// A look is sent. Returns how many milliseconds it goes back; -1: it looks at everything.
int64_t due_since_ms(struct due *d, int64_t now_ns);

// The look that was sent at sent_ns was answered. It has `emptied` the queue if it left nothing
// that it found.
void due_looked(struct due *d, bool emptied, int64_t sent_ns);
