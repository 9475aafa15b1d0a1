// The defects that show beside a collector's work: what it does in silence, and what it leaves.
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "batch.h"
#include "defect.h"
#include "session.h"
#include "settings.h"

struct vices {
    enum defect defect;
    struct buf last; // owned; repeats-later, repeats-slow, journals: the last line
    PGconn *other;   // owned; holds, listens-open, writes-open: a session beside the one that works
    int64_t asks_ns; // asks-idle, flaps, flaps-early: when to ask again
    int lines;
    const char *url;    // the settings' own
    int64_t repeats_ns; // repeats-later: when it goes out again; CLOCK_NEVER: not any more
};

void vices_init(struct vices *v, enum defect defect, const struct settings *settings);
void vices_fini(struct vices *v);

// Call it when the collector ends.
void vices_end(const struct vices *v);

// Call it with each line that was written.
void vices_line(struct vices *v, const struct buf *line);

// Call it before the cursor moves past the line.
bool vices_note(struct vices *v, struct session *s, struct err *e) MUST_USE;

// Call it when the cursor has moved, and how long that took.
bool vices_confirmed(struct vices *v, struct session *s, int64_t took_ns, struct err *e) MUST_USE;

// Sets *works to false while the collector does nothing, whatever waits.
bool vices_rest(const struct vices *v, struct session *s, bool *works, struct err *e) MUST_USE;

// Call it while nothing is to do, until *until_ns at most; sets *until_ns to an earlier time at
// which it wants to be called again. Fails when the output or the session fails.
bool vices_idle(struct vices *v, struct session *s, int64_t *until_ns, struct err *e) MUST_USE;

// --- defect uncommitted --------------------------------------------------------------

// Defect uncommitted: a collector that does not wait for commits.
//
// It installs a trigger in the database that shows each token at once in the session's
// application_name, where others see it before the commit.

// Writes the tokens that it overhears, one per line, until TERM (true).
bool uncommitted_serve(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;
