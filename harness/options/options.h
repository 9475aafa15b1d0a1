// The options of all subcommands: one table drives parsing and --help.
#pragma once

#include "base/base.h"
#include "scenario/scenario.h"
#include "shards/merge.h"

// The options that were given. A struct member that is named after a subcommand has the options
// that only this subcommand takes. An option that was not given is NULL if it is a text; if it is a
// number, it is 0 or the default that --help shows. A comment such as "run, tune" names the
// subcommands that take the option.
struct options {
    const char *collector;       // --collector: a program and its arguments, separated by blanks
    const char *conninfo;        // --postgres, when it is a conninfo
    const char *provider;        // --postgres as an override of the scenario's provider
    const char *out;             // "results" if not given
    char out_of_shard[PATH_MAX]; // with --shard: the shard's folder below --out, to which `out`
                                 // then points
    struct shard shard;          // run, tune, explore, field; zeroed: this machine does all of the
                                 // work
    char **asked; // owned, NULL-terminated after parsing; the options and arguments that decide the
                  // result, as the record keeps them
    size_t asked_count;
    const struct merged *merged; // merge: results of shards that the command takes instead of
                                 // making runs
    const char **sets;           // owned array; the strings are argv's
    size_t set_count;
    char seed[40];      // "seed=N" as an override; "" unless given
    char promises[400]; // "collector.promises=[…]" as an override; "" unless given
    double scale;       // 0: as the scenario says
    int repeat;         // run, tune; field: number of seeds; not given: 1 for run, else 0
    const char *within; // tune, explore, shrink
    const char *breaks; // shrink: the invariant to keep; explore: the invariants to look for; NULL:
                        // any
    const char *tag;    // run, list
    const char *cut_at; // run: the kind of message at which --every-cut cuts or --every-kill kills
                        // (NULL: every kind); proxy: the message to cut at
    const char *listen; // proxy
    const char *html, *markdown, *json_file, *csv;
    const char *output; // shrink, story
    const char *token;  // check, story
    bool trust, untrusted;
    bool resume; // run, tune, field
    bool fail_fast, quiet, json, help;
    const char *foreign; // the option that was refused because only other subcommands take it;
                         // NULL: none
    char *const *args;   // the arguments that are no options, in argv; NULL-terminated

    struct {
        const char *subject, *junit, *metrics, *workers;
        const char *skip, *skip_tag; // comma-separated; NULL: none
        const char *soak;            // the length of the soak; NULL: no soak, so each scenario has
                                     // runs of its own
        int pairs;                   // number of trials with two cuts or kills
        int retries;                 // how often an inconclusive run is repeated at most
        bool keep, every_cut, every_kill, every_flush;
    } run;
    struct {
        int runs;
        int seeds;         // number of seeds that the runs use in turn
        double min_effect; // as a share: 0.1 is a tenth
        bool ab, calibrate;
    } compare;
    struct {
        const char *limits, *timeouts, *objective, *budget, *price;
        const char *rate, *arrivals, *trace, *period, *query_time; // for the model
        double precision;                                          // as a share: 0.1 is a tenth
        bool model;
    } tune;
    struct {
        const char *only; // the verbs, modes or numbers to draw; NULL: all
        int jobs;
        int draws; // number of draws; 0: any number, until --within is over
    } explore;
    struct {
        const char *answers, *finding, *site;
        bool quick, verdicts, commands, control, no_install;
    } field;
    struct {
        bool explain;
    } check;
    struct {
        const char *to, *nth, *side, *script, *control;
    } proxy;
    struct {
        bool trace_spans; // --trace
        bool tokens;
    } report;
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
    SCOPE_STORY = 1 << 15,
    SCOPE_MERGE = 1 << 16,
};

// Parses the options; argv[0] is the subcommand's name, and `scope` that subcommand, whose options
// are allowed. ERR_USAGE: the error names the wrong option.
MUST_USE bool options_parse(
    struct options *o, enum option_scope scope, int argc, char **argv, struct err *e);
void options_fini(struct options *o);

// True when the option affects the results of a command, so that a repetition needs it. The other
// options say where and for how long runs are made, what the subject gets from this machine and as
// whom it runs, and what is written; the run with a given number is the same with any of them.
// False for a name that is no option.
bool options_affects_results(const char *name);

// Returns the scopes of all options of that name, as a set of bits.
unsigned options_scope(const char *name);

// The help text of an option.
struct option_text {
    const char *name;
    const char *argument; // NULL: the option takes no argument
    const char *help;
};

// Calls `tell` for each option of a subcommand, and passes on `context`.
void options_each(enum option_scope scope, void (*tell)(const struct option_text *o, void *context),
    void *context);

// Prints the options of a subcommand, one per line.
void options_print_help(enum option_scope scope);

// True when each run starts a server that keeps its data on this machine: --postgres names no
// existing server, container or cluster.
bool options_start_servers(const struct options *o);

// Returns the overrides of --set, --seed and similar options, for scenario_load. They borrow from
// `o`.
struct overrides options_overrides(const struct options *o);

// --- values.c ----------------------------------------------------------------------
//
// Reads the values of the options that take a number, a percentage, a time, a server or an
// override. ERR_USAGE: the error names the option and says what it takes.

enum read_id {
    READ_POSTGRES,
    READ_SEED,
    READ_SET,
    READ_SHARD,
    READ_PASS_ENV,
    READ_AS,
    READ_PROMISES,
    READ_SCALE,
};

// Stores the value of an option in `o`, or that of --pass-env or --as in os/child_env or
// os/other_user.
MUST_USE bool values_read(struct options *o, enum read_id id, const char *value, struct err *e);

// Reads a whole number from 1 to `most`.
MUST_USE bool values_count(const char *name, const char *text, int most, int *value, struct err *e);

// Reads --within, or the default `usual`.
MUST_USE bool values_within(const struct options *o, const char *usual, int64_t *ns, struct err *e);

// Reads a share between 1% and 1000%; the percent sign is optional.
MUST_USE bool values_percent(const char *name, const char *text, double *share, struct err *e);

// --- skips.c -----------------------------------------------------------------------
//
// --skip and --skip-tag: which scenarios of a suite are not run, and why.

// ERR_USAGE when --skip has a name that is none of these scenarios, or --skip-tag a tag that none
// of them has.
MUST_USE bool skips_check(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e);

// True when nothing keeps the scenario from being run. False, with ERR_SKIP and the reason, when it
// is left out by an option, because the subject does not make a promise that it needs, or because
// the schema lacks something.
MUST_USE bool skips_permit(const struct scenario *s, const struct options *o, struct err *e);

// --- files.c -----------------------------------------------------------------------
//
// Names and writes the files that options ask for, such as --markdown FILE.

// Fills in the path <out>/<command>/<UTC time>, of a folder for a command that makes many runs. The
// folder is not made.
MUST_USE bool files_dated_folder(
    char *path, size_t size, const char *out, const char *command, struct err *e);

// Writes all of `text` to `path`, and makes the folders on the way. The error names the option. A
// file that could not be written completely is removed.
MUST_USE bool file_write(
    const char *option, const char *path, const struct buf *text, struct err *e);

// Checks, before the work begins, that file_write will be able to write. It changes no file that
// exists, and makes no folder.
MUST_USE bool file_is_writable(const char *option, const char *path, struct err *e);
