// Reads the figures of a process from /proc: what it has used so far, and what it holds.
#pragma once

#include "subject/subject.h"

// Fills cpu_ms, wakeups, starved_us, rss_kb, fds and processes with the figures of the process and
// all its descendants. So a shell or an interpreter in front of the collector makes no difference.
// False when the process is gone or there is no /proc.
bool process_sample_read(pid_t pid, struct process_sample *sample);
