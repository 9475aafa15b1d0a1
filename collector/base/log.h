// Logs to stderr, one line for each event: `2024/04/20 13:37:00 [PG] connected`.
//
// A line is written with one write(2), so that lines of several processes on one terminal stay
// whole. Control characters in the text are replaced by '?': a server's message cannot forge a log
// line. Callers never pass secrets.
#pragma once

#include "base/err.h"

// After this call the log never waits for a pipe that nobody empties: it drops the lines that find
// no room, and says how many before the next line that it writes.
void log_never_wait(void);

// `tag` names the part of the program that logs, such as "PG", "QUEUE" or "MAIN".
void log_line(const char *tag, const char *fmt, ...) PRINTF_LIKE(2, 3);
