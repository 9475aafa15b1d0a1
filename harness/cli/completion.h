// Shell completions, from the tables that drive --help.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/manual.h"

// Prints the completion for "bash", "zsh" or "fish". False for any other shell.
bool completion_print(const char *shell, const struct command *commands, size_t count);
