// Settings that come from environment variables: one table drives reading, --help, and what is
// wiped and freed. A value that cannot be used is an ERR_USAGE that names the variable.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// The member of a text or a secret is a string, which variables_fini frees. A secret is shown in no
// message, and wiped. From VARIABLE_NUMBER on, set_number fills the member.
enum variable_kind { VARIABLE_TEXT, VARIABLE_SECRET, VARIABLE_NUMBER };

struct variable {
    const char *name;
    int kind;                 // enum variable_kind, or a kind of number of the table's own
    size_t offset;            // of its member
    int64_t min, max;         // of a number, or of the characters of a text
    const char *default_text; // NULL: there is none
    const char *help;
};

struct variables {
    const char *program, *prefix;
    const struct variable *rows;
    size_t count;
    bool one_line; // no text may have a line break, and none is shown
    bool (*set_number)(void *into, const struct variable *row, const char *value, struct err *e);
};

// Reads all variables of the table, or their defaults, into a zeroed struct. environ holds
// NAME=value strings, as environ(7). Call variables_fini also on failure.
bool variables_read(
    const struct variables *v, void *into, char *const environ[], struct err *e) MUST_USE;
void variables_fini(const struct variables *v, void *from); // wipes the secrets

// Wipes the secrets where the environment holds them: they would stay in memory, and in
// /proc/PID/environ, for as long as the process lives.
void variables_wipe(const struct variables *v, char *const environ[]);

// Returns the next variable from *at on that has the prefix and is not in the table, and its name's
// length; NULL: there is none.
const char *variables_unknown(
    const struct variables *v, char *const environ[], size_t *at, size_t *len);

// Logs a warning for each unknown one. It is no error, because programs may share an environment.
void variables_warn_of_unknown(const struct variables *v, char *const environ[]);
