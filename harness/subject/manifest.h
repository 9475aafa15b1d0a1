// A subject: a queue that is judged in place of a collector of mail lines. Its folder holds
// subject.yaml and a consumer. No C code is specific to one subject.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define MANIFEST_NONE "none"
#define MANIFEST_CLIENT "client" // value of `enqueue`: the client puts the jobs

struct manifest {
    char dir[PATH_MAX]; // the subject's folder, in which all its commands run
    char *name;         // the name, which is also that of the folder
    char *summary;
    char *version;   // the version that is judged
    char *mode;      // the mode that is judged, and where the documentation recommends it
    char **debian;   // packages that ci/field installs
    bool npm;        // ci/field runs npm ci in the folder
    char **check;    // a command that fails where it is not installed; empty: nothing to install
    char *absent;    // why it cannot be installed here; MANIFEST_NONE: it can
    char *superuser; // an SQL file that a superuser runs first; MANIFEST_NONE: no such file
    char **schema;   // a command that makes its tables, run as the consumer's role; empty: none
    char *enqueue;   // one statement; $1 is the job's number, $2 its payload, both text; or
                     // "client"
    char **producer; // with `enqueue: client`, the command that puts jobs; else empty
    char **consumer;
    bool answers;            // the consumer asks for each job how its handler should end
    int promises;            // bits of enum promise
    char *documented;        // the promise that is judged, and where it is documented;
                             // MANIFEST_NONE: none is
    int64_t retry_within_ns; // time within which the queue itself retries an interrupted job
    char *end_state;         // a query that counts the jobs that are left; MANIFEST_NONE: no such
                             // query
};

// Loads a manifest by the name of a folder under subjects/, or by a folder's path. ERR_USAGE says
// where the manifest is wrong, or that there is none.
MUST_USE bool manifest_load(struct manifest *m, const char *name, struct err *e);
void manifest_fini(struct manifest *m); // accepts a zeroed struct

// True when the queue's own client puts the jobs.
bool manifest_is_client(const struct manifest *m);

// Checks that the subject is installed. If not, ERR_SKIP with the reason and what to do.
MUST_USE bool manifest_installed(const struct manifest *m, struct err *e);

// Returns the names of all subjects that come with mailproof, sorted and NULL-terminated.
MUST_USE bool manifest_names(char ***names, struct err *e);
void manifest_names_free(char **names);
