// The subcommands: one file each, one table of them in main.c.
#pragma once

#include "options/options.h"

// The exit codes of mailproof, on which scripts rely. Those of verdicts are in check.h.
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

// Runs the scenarios of `mailproof run`, prints and writes what came of them, and returns the exit
// code.
int run_suite(const struct scenario *scenarios, size_t count, const struct options *o);

// Prints "mailproof: text" on stderr and returns the exit code that fits; after a signal, that of
// the signal.
int cli_fail(const struct err *e);

// Returns the more important of two exit codes: 70, then 1, 64, 2, 3, 4. A wrong command that
// only a run reveals (64) must not hide a broken invariant.
int cli_worse(int a, int b);
