// A subject: a queue that is judged in place of a collector of mail lines. Its folder holds
// subject.yaml and a consumer; no C code is about any one of them.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define MANIFEST_NONE "none"
#define MANIFEST_CLIENT "client" // of enqueue

struct manifest {
    char dir[PATH_MAX]; // its folder, in which all its commands run
    char *name;         // = the folder's
    char *summary;
    char *version;   // the one that is judged
    char *mode;      // which of its modes, and where its documentation recommends it
    char **debian;   // packages that ci/field installs
    bool npm;        // ci/field runs npm ci in the folder
    char **check;    // fails where it is not installed; empty: nothing to install
    char *absent;    // why it cannot be installed here; MANIFEST_NONE: it can
    char *superuser; // an SQL file that a superuser runs first; MANIFEST_NONE: none
    char **schema;   // makes its tables, as the role that consumes; empty: none
    char *enqueue;   // one statement; $1 is the job's number, $2 its payload, both text; or client
    char **producer; // of enqueue: client, puts jobs; else empty
    char **consumer;
    bool answers;            // it asks for each job how its handler should end
    int promises;            // of enum promise
    char *documented;        // the promise that is judged, and where it is made; MANIFEST_NONE
    int64_t retry_within_ns; // how long its own retry of an interrupted job may take
    char *end_state;         // a query: jobs that are left; MANIFEST_NONE: none
};

// Loads a manifest by the name of a folder under subjects/, or by a folder's path. ERR_USAGE says
// where the manifest is wrong, or that there is none.
MUST_USE bool manifest_load(struct manifest *m, const char *name, struct err *e);
void manifest_fini(struct manifest *m); // accepts a zeroed one

// True when the queue's own client puts the jobs.
bool manifest_is_client(const struct manifest *m);

// ERR_SKIP, with the reason and what to do, where it is not installed.
MUST_USE bool manifest_installed(const struct manifest *m, struct err *e);

// Returns the names of all subjects that come with mailproof, sorted and NULL-terminated.
MUST_USE bool manifest_names(char ***names, struct err *e);
void manifest_names_free(char **names);
