// The sender's settings: environment variables that begin with SENDER_.
//
// One table in settings.c drives parsing, --help and the README's table. A bad
// value is an ERR_USAGE that names the variable; passwords are never repeated.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct settings {
    char *url;
    char *tls;
    char *ca_file;
    char *user;
    char *password;
    char *password_file;
    char *from;      // the bare address
    char *from_name; // the name before it, NULL: none
    char *site;
    char *activation;
    char *recovery;
    char *state_file;
    double rate; // mails a second; 0: no limit
    double burst;
    double daily;
    double timeout_ms;
    double attempts;
};

bool settings_load(struct settings *s, char *const environ[], struct err *e) MUST_USE;
// Wipes the password where the environment holds it.
void settings_wipe(char *const environ[]);
void settings_fini(struct settings *s); // accepts a zeroed struct
void settings_help(FILE *out);

// Returns the next variable of the environment from *at on that begins with SENDER_ and is not a
// setting, and its name's length; NULL: there is no further one.
const char *settings_unknown(char *const environ[], size_t *at, size_t *len);
void settings_markdown(FILE *out);
