// Carries out the commands with which the harness controls the disk, all but "serve". Each is a
// line, and so is its answer: "ok" with numbers if there are any, or "error" with the reason.
#pragma once

#include "disk/device.h"

#define CONTROL_LINE_MAX 256

// Carries out a line and writes the answer. Neither has a '\n' at its end.
void commands_run(struct device *d, const char *line, char *answer, size_t size);
