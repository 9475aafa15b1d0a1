// Prints the manual page and the shell completions, from the tables that also drive --help.
#pragma once

#include "options/options.h"

struct command {
    const char *name;
    const char *usage;
    enum option_scope scope;
    int (*run)(const struct options *o);
    const char *help;
    const char *words; // sentences that explain the words of `usage`; NULL: none
};

// Prints mailproof.1, in man's macros.
void manual_print(const struct command *commands, size_t count);

// Prints the completion for "bash", "zsh" or "fish". False for any other shell.
bool completion_print(const char *shell, const struct command *commands, size_t count);
