// One line on stderr per event: `2024/04/20 13:37:00 [PG] connected`.
//
// Only entry points and event loops log. A line is written with one write(2),
// so that lines of several processes on one terminal stay whole. Control
// characters in the text are replaced by '?': a server's message cannot forge
// a log line. Secrets are never passed here.
#pragma once

#include "base/err.h"

// tag names the part that speaks: "PG", "QUEUE", "OUT", "MAIN".
// From here on a pipe that nobody empties makes nobody wait: lines that find no
// room are dropped, and the next one that does says how many.
void log_never_wait(void);

void log_line(const char *tag, const char *fmt, ...) PRINTF_LIKE(2, 3);
