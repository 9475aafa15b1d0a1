// The other owners of deliveries: which of them have lost their collector? Pure.
//
// One whose lock is free has ended, and has had time to come back when it was
// seen so for the grace. One whose lock is held and that has something in hand, but
// whose lease was not renewed for as long as a lease lasts, hangs. Each has a time of
// its own, by our clock, and only while we watched: after an outage, a pause of our
// own or an idle hour nobody is overdue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OWNERS_MAX 16                         // as many as owners.sql tells of
#define OWNERS_TEXT_LEN (21 * OWNERS_MAX + 3) // their numbers as an array

struct owner {
    int64_t number;
    int64_t renewed;
    int64_t since_ns; // it is gone, or was renewed last
    bool alive;       // a session holds its lock
    bool busy;        // and has something in hand
    bool empty;       // it is finished, and had nothing when we looked
    bool told;        // in this look; owners_end drops the others
};

#define OWNERS_WATCH_NS INT64_C(1000000000) // looks further apart are no watching

struct owners {
    int64_t looked_ns; // the last look
    int n;
    struct owner all[OWNERS_MAX];
};

// A look at the database: owners_tell for each that it names, then owners_end.
void owners_tell(struct owners *o, struct owner seen, int64_t now_ns);
void owners_end(struct owners *o, int64_t now_ns);

// One whose deliveries others may take; NULL: none. Number 0 is nobody, whose
// grace is over.
struct owner *owners_due(struct owners *o, int64_t grace_ns, int64_t lease_ns, int64_t now_ns);

// Somebody has something in hand, or is gone and may have left something.
bool owners_matter(const struct owners *o);

// Notes that nothing of this owner is left. An owner that is not finished may still take more, and
// is looked at again when it is overdue again.
void owners_was_empty(struct owner *o, bool finished, int64_t now_ns);

// Writes the owners that are finished and have nothing left, as an array such as {12,34}. Returns
// `text`.
const char *owners_finished(const struct owners *o, char text[OWNERS_TEXT_LEN]);
