// How a process is, from /proc: what it cost so far, and what it holds.
#pragma once

#include "subject/subject.h"

// Fills cpu_ms, wakeups, starved_us and rss_kb; false when the process is gone or there is
// no /proc.
bool vitals_read(pid_t pid, struct process_sample *sample);
