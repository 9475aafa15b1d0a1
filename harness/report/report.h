// Writes the files that a run leaves for people and programs.
#pragma once

#include "check/check.h"
#include "report/files/environment.h"
#include "report/folder.h"
#include "report/files/observed.h"
#include "report/silence.h"
#include "scenario/quoted.h"

struct json_t;

// The part of a report that only --every-cut and --every-kill fill in.
struct report_cuts {
    const char *mode;    // "every-cut"
    const char *options; // options that repeat the run, such as "--every-cut"
    size_t tried, reached, broken, inconclusive; // numbers of trials; reached: their message came
    struct json_t *strip;                        // data of the page; see run/cuts/cutstrip.c
};

struct report {
    const struct report_cuts *cuts; // NULL for an ordinary run
    const struct scenario *scenario;
    const struct ledger *ledger;
    const struct result *result;
    const struct check_input *input;
    const struct environment *environment;
    const struct observed *observed;
    const struct silence *silence;
    const struct folder *folder;
    const struct quoted_flags *promises; // what the documentation of a queue promises, word for
                                         // word; NULL: none is quoted
};

// Returns the next of r->promises that the run broke; NULL: there is no further one. *at is the
// place to go on from: set it to 0 before the first call.
const struct quoted *report_broken_promise(const struct report *r, size_t *at);

// Writes the report's files into the result folder, result.json last. Others write scenario,
// history and logs.
MUST_USE bool report_write(const struct report *r, struct err *e);

// Appends the command that repeats the run, quoted for a shell. For a server that the user had
// named it has the word CONNINFO, which the user must replace. False when `out` is full.
bool report_repeat(const struct report *r, struct buf *out);
// Appends the command for the scenario at `path`. `collector` is the value of --collector, or NULL.
bool report_repeat_of(
    const char *path, const struct scenario *s, const char *collector, struct buf *out);

// Prints the verdict for a person at a terminal.
MUST_USE bool report_print(const struct report *r, FILE *out, struct err *e);

// --- each appends the text of one file ---------------------------------------------

MUST_USE bool report_result_json(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_env_json(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_intervals_csv(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_latency_log(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_junit(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_html(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_summary(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_openmetrics(const struct report *r, struct buf *out, struct err *e);

// These append the spans of tokens, processes and faults. report_write leaves them out.
MUST_USE bool report_trace_chrome(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_trace_otlp(const struct report *r, struct buf *out, struct err *e);

// Writes trace.json and trace.otlp.json into the result folder.
MUST_USE bool report_write_traces(const struct report *r, struct err *e);

// Writes tokens.csv and tokens.jsonl into the result folder.
MUST_USE bool report_write_tokens(const struct report *r, struct err *e);

// Adds the figures that result.json has beyond the keys that other programs rely on: stages,
// batches, phases, the cost of generator and harness, and the server. `root` is a json_t object.
void report_add_measurements(const struct report *r, struct json_t *root);

// --- several runs in one junit.xml ---------------------------------------------------

// These append one <testsuite>: of a judged run, of a skipped scenario, of a run that failed
// without a verdict. report_junit_document makes one document of all of them.
MUST_USE bool report_junit_suite(const struct report *r, struct buf *out, struct err *e);
bool report_junit_skipped(const char *scenario, const char *why, struct buf *out);
bool report_junit_failed(const char *scenario, const char *why, struct buf *out);
MUST_USE bool report_junit_document(struct buf *suites, struct buf *out);
