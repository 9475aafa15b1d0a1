// The sender's settings: environment variables that begin with SENDER_.
//
// One table in settings.c drives parsing, --help and the README's table. A bad value is an
// ERR_USAGE that names the variable; passwords are never repeated.
#pragma once

#include "base/base.h"
#include "base/variables.h"

struct settings {
    char *url;
    char *tls;
    char *ca_file;
    char *user;
    char *password;
    char *password_file;
    char *from;      // the bare address
    char *from_name; // the name before that address; NULL: none
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

extern const struct variables settings_variables;

bool settings_load(struct settings *s, char *const env[], struct err *e) MUST_USE;
void settings_fini(struct settings *s); // accepts a zeroed struct
void settings_help(FILE *out);
void settings_markdown(FILE *out);
