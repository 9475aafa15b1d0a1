// Reads the manifest (subject.yaml) of a subject: a queue that is judged in place of a collector of
// mail lines. The subject's folder holds the manifest and a consumer; no C code is specific to one
// subject.
#pragma once

#include "scenario/quoted.h"

#define MANIFEST_NONE "none"
#define MANIFEST_CLIENT "client" // value of `enqueue`: the queue's own client puts the jobs

enum manifest_kind {
    KIND_QUEUE,
    KIND_WORKFLOW, // a workflow engine: a step takes effect once, though its handler may run again
    KIND_LOG,      // consumers read batches of a log
    KIND_PATTERN,  // a pattern that tutorials show, not a product; this project wrote its code
};

struct manifest {
    char dir[PATH_MAX]; // the subject's folder, in which all its commands run
    char *name;         // also the folder's name
    char *summary;
    int kind;          // enum manifest_kind
    char *version;     // the version that is judged
    char *newest;      // the newest release, if it cannot be installed; MANIFEST_NONE: `version` is
                       // the newest
    char *mode;        // the mode that is judged, and the place where the documentation recommends
                       // this mode
    char *wakes;       // how the queue notices a new job, such as "LISTEN, and a poll of 2 s"
    char *concurrency; // how many jobs one worker has in hand at once, such as "10"
    char **runtime;    // a command that prints the version of the queue's language; empty: none
    char **debian;     // packages that ci/field installs
    char *npm;    // the folder in which ci/field runs npm ci, relative to `dir`; MANIFEST_NONE:
                  // nothing comes from npm
    char **check; // a command that fails if the subject is not installed; empty: nothing needs
                  // to be installed
    char *why_not_installable; // why the subject cannot be installed from Debian or npm;
                               // MANIFEST_NONE: it can
    char *superuser; // an SQL file that a superuser runs first; MANIFEST_NONE: no such file
    char **schema;   // a command that makes the queue's tables and runs with the consumer's
                     // database role; empty: none
    char *enqueue;   // one SQL statement that puts a job: $1 is the job's number, $2 its payload,
                     // both text; or MANIFEST_CLIENT
    char **producer; // with `enqueue: client`: the command that puts jobs; otherwise empty
    char **consumer;
    bool answers;                 // the consumer asks the harness, for each job, how the job's
                                  // handler should end
    struct quoted_flags promises; // bits of enum promise, and the evidence of each
    int64_t retry_within_ns;      // time within which the queue itself retries an interrupted job
    char *retry_documented;       // where the documentation says so; MANIFEST_NONE: it does not say
    char *taken;      // a query that counts the jobs that some worker, alive or dead, has taken and
                      // not finished; MANIFEST_NONE: no such query
    int64_t claim_ns; // how long a job belongs to the worker that took it, before another worker
                      // may take it; 0: for ever
    char *retry_default; // how long a dead worker's job waits with the queue's default settings, as
                         // text; MANIFEST_NONE: as long as with the settings used here
    char *failed;        // a query that counts the jobs that failed for good and are kept;
                         // MANIFEST_NONE: no such query
    char *end_state;     // a query that counts the jobs that are left; MANIFEST_NONE: no such
                         // query
};

// Loads a manifest by the name of a folder under subjects/, or by a folder's path. False with
// ERR_USAGE when there is no manifest, or when it is wrong; the error's text says where.
MUST_USE bool manifest_load(struct manifest *m, const char *name, struct err *e);
void manifest_fini(struct manifest *m); // accepts a zeroed struct

// Finds the folder that holds the subjects that come with mailproof, as installed or in the source
// tree.
MUST_USE bool manifest_folder(char out[PATH_MAX], struct err *e);

// Returns a kind (enum manifest_kind) in words, such as "job queue".
const char *manifest_kind_text(int kind);

// Checks that each promise has a quotation and an address. `field` judges no subject without them.
MUST_USE bool manifest_quoted(const struct manifest *m, struct err *e);

// True when the queue's own client puts the jobs.
bool manifest_is_client(const struct manifest *m);

// Checks that the subject is installed. If not, false with ERR_SKIP, the reason and what to do.
MUST_USE bool manifest_installed(const struct manifest *m, struct err *e);

// Writes the first line that the manifest's `runtime` command prints, such as "v22.23.3"; "" when
// there is no such command, or when it fails.
void manifest_runtime(const struct manifest *m, char *text, size_t size);

// Sets *names to the names of all subjects that come with mailproof, sorted and NULL-terminated.
// Free them with memory_free_texts.
MUST_USE bool manifest_names(char ***names, struct err *e);
