// Writes whole lines to a reader that may be slow, stopped or gone.
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "defect.h"
#include "session.h"

// Call it once, before the first line.
void output_init(void);

// Returns when the kernel has taken everything. Meanwhile it reads announcements from the
// connection and counts them, because a backend whose client does not read would delay the
// notifications of all clients. ERR_INTERRUPTED: TERM came, and the reader did not take the rest of
// the line in time.
bool output_write(const struct buf *line, struct session *s, int *announced, enum defect defect,
    struct err *e) MUST_USE;
