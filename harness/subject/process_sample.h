// Reads from /proc what a process has used so far (processor time, wake-ups) and what it holds
// (memory, descriptors).
#pragma once

#include "subject/subject.h"

// Fills cpu_ms, wakeups, starved_us, rss_kb, fds and processes with the figures of the process and
// its descendants, down to eight levels. So it makes no difference whether a shell runs the
// collector. False when the process has ended or there is no /proc.
bool process_sample_read(pid_t pid, struct process_sample *sample);
