// Defects that show beside a collector's work, such as what it does while no tokens come, and what
// it leaves behind.
#pragma once

#include "base/base.h"
#include "batch.h"
#include "defect.h"
#include "session.h"
#include "settings.h"

struct vices {
    enum defect defect;
    struct buf last;    // owned; defects repeats-later, repeats-slow and journals: the last line
    PGconn *other;      // owned; defects holds, listens-open and writes-open: a further session
    int64_t asks_ns;    // defects asks-idle, flaps and flaps-early: when to do it again
    int lines;          // defects leaks-sessions and leaves-zombies: number of lines
    const char *url;    // borrowed from the settings
    int64_t repeats_ns; // defect repeats-later: when the last line goes out again; CLOCK_NEVER:
                        // never
};

// Begins the defect, if it is one of those here.
void vices_init(struct vices *v, enum defect defect, const struct settings *settings);
void vices_fini(struct vices *v);

// Returns the batch timeout, which some defects change.
int64_t vices_timeout_ns(enum defect defect, int64_t timeout_ns);

// Defect litters: leaves a process running. Call it when the collector ends.
void vices_end(const struct vices *v);

// Call it after each line that was written.
void vices_line(struct vices *v, const struct buf *line);

// Defect journals: notes the line in the server. Call it before the cursor moves past a batch.
bool vices_note(struct vices *v, struct session *s, struct err *e) MUST_USE;

// Defect repeats-slow: writes the line again when the move was slow. Call it when the cursor has
// moved; `took_ns` is how long the move took.
bool vices_confirmed(struct vices *v, struct session *s, int64_t took_ns, struct err *e) MUST_USE;

// Defects waits-for-snapshots and spares-server: *works becomes false while the collector is to do
// nothing although tokens may wait.
bool vices_rest(const struct vices *v, struct session *s, bool *works, struct err *e) MUST_USE;

// Call it each time before the collector sleeps until *until_ns. It sets *until_ns to an earlier
// time if it is to be called again then. False when the output or the session fails.
bool vices_idle(struct vices *v, struct session *s, int64_t *until_ns, struct err *e) MUST_USE;

// --- defect uncommitted --------------------------------------------------------------

// Defect uncommitted: a collector that does not wait for commits.
//
// It installs a trigger in the database that puts each token into the application_name of the
// inserting session, where other sessions see it before the commit.

// Writes the tokens that it sees in this way, one per line, and returns true on TERM. False when
// the output or the session fails.
bool uncommitted_serve(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;
