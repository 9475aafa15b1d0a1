// The harness controls the disk line by line: a command, and an answer that is "ok"
// with the counts, or "error" with the reason.
#pragma once

#include <stddef.h>

#include "disk/device.h"

#define CONTROL_LINE_MAX 256

// Carries out a line without its '\n' and writes the answer, without '\n' too.
void commands_run(struct device *d, const char *line, char *answer, size_t size);
