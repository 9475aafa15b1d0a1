// A subject: a queue that is judged in place of a collector of mail lines. Its folder holds
// subject.yaml and a consumer. No C code is specific to one subject.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "scenario/quoted.h"

#define MANIFEST_NONE "none"
#define MANIFEST_CLIENT "client" // value of `enqueue`: the client puts the jobs

enum manifest_kind {
    KIND_QUEUE,
    KIND_WORKFLOW, // a workflow engine: its steps happen once, its handlers may run again
    KIND_LOG,      // consumers read batches of a log
    KIND_PATTERN,  // a pattern of tutorials, not a product; its code is ours
};

struct manifest {
    char dir[PATH_MAX]; // the subject's folder, in which all its commands run
    char *name;         // the name, which is also that of the folder
    char *summary;
    int kind;        // enum manifest_kind
    char *version;   // the version that is judged
    char *newest;    // the newest release, where it cannot be installed; MANIFEST_NONE: `version`
                     // is the newest
    char *mode;      // the mode that is judged, and where the documentation recommends it
    char *wakes;     // how it notices a new job, such as "LISTEN, and a poll of 2 s"
    char **runtime;  // a command that prints the version of its language; empty: none
    char **debian;   // packages that ci/field installs
    char *npm;       // the folder, seen from this one, in which ci/field runs npm ci;
                     // MANIFEST_NONE: nothing comes from npm
    char **check;    // a command that fails where it is not installed; empty: nothing to install
    char *absent;    // why it cannot be installed here; MANIFEST_NONE: it can
    char *superuser; // an SQL file that a superuser runs first; MANIFEST_NONE: no such file
    char **schema;   // a command that makes its tables, run as the consumer's role; empty: none
    char *enqueue;   // one statement; $1 is the job's number, $2 its payload, both text; or
                     // "client"
    char **producer; // with `enqueue: client`, the command that puts jobs; else empty
    char **consumer;
    bool answers;                 // the consumer asks for each job how its handler should end
    struct quoted_flags promises; // bits of enum promise, and the evidence of each
    int64_t retry_within_ns;      // time within which the queue itself retries an interrupted job
    char *retry_documented;       // where its documentation says so; MANIFEST_NONE: not said
    char *taken;      // a query that counts the jobs that a worker has taken and not finished, dead
                      // or not; MANIFEST_NONE: no such query
    int64_t claim_ns; // how long a job belongs to the worker that took it, before another one may
                      // take it; 0: no time ends that
    char *retry_default; // how long a dead worker's job waits by default, as text; MANIFEST_NONE:
                         // as here
    char *failed;        // a query that counts the jobs that failed for good and are kept;
                         // MANIFEST_NONE: no such query
    char *end_state;     // a query that counts the jobs that are left; MANIFEST_NONE: no such
                         // query
};

// Loads a manifest by the name of a folder under subjects/, or by a folder's path. ERR_USAGE says
// where the manifest is wrong, or that there is none.
MUST_USE bool manifest_load(struct manifest *m, const char *name, struct err *e);
void manifest_fini(struct manifest *m); // accepts a zeroed struct

// Finds the folder of the subjects that come with mailproof, installed or in the source tree.
MUST_USE bool manifest_folder(char out[PATH_MAX], struct err *e);

// Returns the words of a kind, such as "job queue".
const char *manifest_kind_text(int kind);

// Checks that each promise has a quotation and an address, without which `field` convicts nobody.
MUST_USE bool manifest_quoted(const struct manifest *m, struct err *e);

// True when the queue's own client puts the jobs.
bool manifest_is_client(const struct manifest *m);

// Checks that the subject is installed. If not, ERR_SKIP with the reason and what to do.
MUST_USE bool manifest_installed(const struct manifest *m, struct err *e);

// Writes the first line of what its runtime command prints, such as "v22.23.3"; "" when there is
// none.
void manifest_runtime(const struct manifest *m, char *text, size_t size);

// Returns the names of all subjects that come with mailproof, sorted and NULL-terminated.
MUST_USE bool manifest_names(char ***names, struct err *e);
void manifest_names_free(char **names);
