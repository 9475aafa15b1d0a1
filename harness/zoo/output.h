// Writes whole lines to a reader that may be slow, stopped or gone.
#pragma once

#include "base/base.h"
#include "defect.h"
#include "session.h"

// Makes standard output non-blocking if it is a pipe or a socket. Call it once, before the first
// line.
void output_init(void);

// Writes a line, and returns when the kernel has taken all of it. While it waits for the reader, it
// reads announcements from the connection and adds their number to *announced, because a client
// that does not read would delay the notifications of all clients. False with ERR_INTERRUPTED when
// TERM came and the reader did not take the rest of the line in time.
bool output_write(const struct buf *line, struct session *s, int *announced, enum defect defect,
    struct err *e) MUST_USE;
