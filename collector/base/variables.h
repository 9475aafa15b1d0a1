// Reads settings from environment variables. One table drives reading, --help, wiping and freeing.
// A value that cannot be used is an ERR_USAGE that names the variable.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// For VARIABLE_TEXT and VARIABLE_SECRET the member is a string, which variables_fini frees. No
// message shows a secret, and it is wiped before it is freed. For VARIABLE_NUMBER, and for kinds
// that a table adds after it, set_number fills in the member.
enum variable_kind { VARIABLE_TEXT, VARIABLE_SECRET, VARIABLE_NUMBER };

struct variable {
    const char *name;
    int kind;                 // enum variable_kind, or a kind of number that the table adds
    size_t offset;            // where its member is in the struct
    int64_t min, max;         // of a number, or of the length of a text
    const char *default_text; // NULL: there is none
    const char *help;
};

struct variables {
    const char *program; // its name in messages
    const char *prefix;  // with which the names of its variables begin
    const struct variable *rows;
    size_t count;
    bool one_line; // no text may have a line break, and no message of variables_read shows a text
    bool (*set_number)(void *into, const struct variable *row, const char *value, struct err *e);
};

// Reads all variables of the table, or their defaults, into a zeroed struct. environ holds
// NAME=value strings, as environ(7). Call variables_fini also on failure.
bool variables_read(
    const struct variables *v, void *into, char *const environ[], struct err *e) MUST_USE;
// Frees the strings of a struct that variables_read has filled, and wipes the secrets first.
void variables_fini(const struct variables *v, void *filled);

// Overwrites the secrets in the environment itself. Otherwise they would stay in memory, and in
// /proc/PID/environ, for as long as the process lives.
void variables_wipe(const struct variables *v, char *const environ[]);

// Searches environ from the index *at on for a variable that has the prefix and is not in the
// table. Returns the string of that variable, sets *len to the length of its name, and moves *at
// past it. NULL: there is none.
const char *variables_unknown(
    const struct variables *v, char *const environ[], size_t *at, size_t *len);

// Logs a warning for each variable that variables_unknown finds. Such a variable is no error,
// because programs may share an environment.
void variables_warn_of_unknown(const struct variables *v, char *const environ[]);
