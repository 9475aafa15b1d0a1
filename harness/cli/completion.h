// Shell completions, from the tables that drive --help.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/manual.h"

// For "bash", "zsh" or "fish". False for a shell that is none of these.
bool completion_print(const char *shell, const struct command *commands, size_t count);
