// What a run leaves for people and programs.
#pragma once

#include <stdio.h>

#include "check/check.h"
#include "postgres/durability.h"
#include "postgres/sampler.h"
#include "report/folder.h"

struct report {
    const struct scenario *scenario;
    const struct ledger *ledger;
    const struct result *result;
    const struct check_input *input;
    const struct durability_proof *proof;
    int server_version;
    const struct folder *folder;
    const struct sampler *sampler; // stopped
};

// Writes every file of the result folder, and the `latest` link last.
MUST_USE bool report_write(const struct report *r, struct err *e);

// The verdict table.
MUST_USE bool report_print(const struct report *r, FILE *out, struct err *e);

// --- one file each -----------------------------------------------------------------

MUST_USE bool report_result_json(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_env_json(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_intervals_csv(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_latency_log(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_junit(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_html(const struct report *r, struct buf *out, struct err *e);
MUST_USE bool report_summary(const struct report *r, struct buf *out, struct err *e);

// The figures of measure, load and server that result.json has beyond its
// contract; `root` is a json_t object.
struct json_t;
void report_add_measurements(const struct report *r, struct json_t *root);

// --- several runs in one junit.xml ---------------------------------------------------

// Appends the <testsuite> of a run, or of a scenario that was skipped; a document
// is made of them at the end.
MUST_USE bool report_junit_suite(const struct report *r, struct buf *out, struct err *e);
bool report_junit_skipped(const char *scenario, const char *why, struct buf *out);
MUST_USE bool report_junit_document(const struct buf *suites, struct buf *out);
