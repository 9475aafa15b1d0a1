// The options of all subcommands: one table drives parsing and --help.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "scenario/scenario.h"

struct options {
    const char *collector; // a program and its arguments, split at blanks
    const char *conninfo;  // --postgres, when it is a conninfo
    const char *provider;  // --postgres as an override; NULL unless given
    const char *out;
    const char *token;
    const char *junit;
    const char *tag;
    const char *cut_at; // run --every-cut: only there; NULL: everywhere
    int pairs;          // run --every-cut: trials with two cuts
    const char **sets;  // owned array; the strings are argv's
    size_t set_count;
    char seed[40]; // "seed=N" as an override; "" unless given
    int repeat;
    int retries;         // run: how often an inconclusive run is repeated
    const char *html;    // field, compare, check
    bool quick;          // field
    const char *answers; // field; NULL unless given
    const char *markdown, *json_file, *csv;
    int runs;                     // compare; 0 unless given
    int seeds;                    // compare: how many take turns
    double min_effect, precision; // 0.1: a tenth
    bool ab, calibrate;
    const char *limits, *timeouts, *objective; // tune; NULL unless given
    const char *budget, *price, *rate, *arrivals, *trace, *period, *query_time, *within;
    bool model;
    const char *subject;                  // run, field; NULL unless given
    const char *listen, *to, *nth, *side; // proxy, load; NULL unless given
    const char *metrics;                  // run; NULL unless given
    const char *part, *of, *workers;      // load, load, run; NULL unless given
    const char *only;                     // explore: verbs, modes or numbers; NULL: everything
    int jobs;                             // explore; 0 unless given
    const char *output;                   // shrink; NULL unless given
    const char *breaks; // shrink: the invariant to keep; explore: those to look for; NULL: any
    bool trace_spans;   // report: --trace
    bool tokens;        // report
    bool fail_fast, keep, quiet, every_cut, every_kill, every_flush, json, help;
    const char *foreign; // the option that was refused, because only other subcommands take it
    char *const *args;   // what is not an option: argv's, NULL-terminated
};

// The subcommands that take an option.
enum option_scope {
    SCOPE_RUN = 1 << 0,
    SCOPE_PLAN = 1 << 1,
    SCOPE_LIST = 1 << 2,
    SCOPE_COMPARE = 1 << 3,
    SCOPE_TUNE = 1 << 4,
    SCOPE_CHECK = 1 << 5,
    SCOPE_REPORT = 1 << 6,
    SCOPE_SHRINK = 1 << 7,
    SCOPE_DOCTOR = 1 << 8,
    SCOPE_EXPLORE = 1 << 9,
    SCOPE_SLOPES = 1 << 10,
    SCOPE_PROXY = 1 << 12,
    SCOPE_FIELD = 1 << 13,
    SCOPE_LOAD = 1 << 14,
};

// argv[0] is the subcommand's name. ERR_USAGE names the option that is wrong.
MUST_USE bool options_parse(
    struct options *o, enum option_scope scope, int argc, char **argv, struct err *e);
void options_fini(struct options *o);

// Returns the scopes of all options of that name, as a set of bits.
unsigned options_scope(const char *name);

// The help text of an option.
struct option_text {
    const char *name;
    const char *argument; // NULL: takes none
    const char *help;
};

// Calls `tell` for each option of a subcommand; `context` is handed on.
void options_each(enum option_scope scope, void (*tell)(const struct option_text *o, void *context),
    void *context);

// Prints the options of a subcommand, one per line.
void options_print_help(enum option_scope scope);

// Returns --set and --seed in the form that scenario_load takes; valid as long as the options.
struct overrides options_overrides(const struct options *o);
