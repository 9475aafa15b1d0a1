// Reads from /proc what a process has used so far, and what it holds.
#pragma once

#include "subject/subject.h"

// Fills cpu_ms, wakeups, starved_us and rss_kb, of the process and of all below it:
// a shell or an interpreter in front of the collector changes nothing. False when the
// process is gone or there is no /proc.
bool vitals_read(pid_t pid, struct process_sample *sample);
