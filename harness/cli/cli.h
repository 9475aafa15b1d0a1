// The subcommands: each is a function in a file of its own, and main.c has the table of them.
#pragma once

#include "options/options.h"

// The exit codes of mailproof, on which scripts rely. Verdicts have exit codes of their own, in
// check.h.
enum {
    EXIT_OK = 0,
    EXIT_USAGE = 64,
    EXIT_INTERNAL = 70,
    EXIT_SKIPPED = 77,
    EXIT_SIGNAL = 128, // this plus the signal's number
};

int cli_run(const struct options *o);
int cli_plan(const struct options *o);
int cli_compare(const struct options *o);
int cli_report(const struct options *o);
int cli_check(const struct options *o);
int cli_story(const struct options *o);
int cli_tune(const struct options *o);
int cli_slopes(const struct options *o);
int cli_explore(const struct options *o);
int cli_merge(const struct options *o);
int cli_shrink(const struct options *o);
int cli_doctor(const struct options *o);
int cli_proxy(const struct options *o);
int cli_field(const struct options *o);
int cli_load(const struct options *o);
int cli_list(const struct options *o);

// Runs the scenarios of `mailproof run`, and prints and writes their results. Returns the worst of
// their exit codes (cli_worse), or that of an error which ended the command.
int run_suite(const struct scenario *scenarios, size_t count, const struct options *o);

// Prints "mailproof: text" on stderr, and returns the exit code for the kind of error; after a
// signal, the exit code for that signal.
int cli_fail(const struct err *e);

// Returns the more important of two exit codes (print_help explains them). A signal's comes first,
// then 70, 1, 64, 2, 3, 4, 0, 77: a wrong command that only a run reveals (64) must not hide a
// broken invariant (1), and what was skipped (77) says nothing beside what was judged.
int cli_worse(int a, int b);

// --- manual.c, completion.c --------------------------------------------------------
//
// Prints the manual page and the shell completions, from the tables that also drive --help.

struct command {
    const char *name;
    const char *usage;
    enum option_scope scope;
    int (*run)(const struct options *o);
    const char *help;
    const char *explanation; // sentences that explain the words of `usage`; NULL: none
};

// Prints mailproof.1, in man's macros.
void manual_print(const struct command *commands, size_t count);

// Prints the completion for "bash", "zsh" or "fish". False for any other shell.
bool completion_print(const char *shell, const struct command *commands, size_t count);
