// One mail, as the collector's line has it: five fields, nothing quoted.
//
// The fields point into the line, which the caller keeps. Nothing that comes
// from outside is trusted: a field that could forge a header or an SMTP command
// is refused here, although the collector does not write such fields.
#pragma once

#include "base/err.h"
#include "wire/line.h"

#define RECORD_FIELDS 5

struct record {
    enum token_action action;
    struct field email;
    struct field login;
    struct field secret; // SIGN_TEXT_LEN characters of base64url
    struct field code;   // five digits, or empty
};

// Returns how many mails a line holds; 0 when its fields are not a multiple of five.
size_t record_count(const char *line, size_t len);

// Takes the next mail from *at, which the caller starts at the line's first byte; `end` is where
// the line ends. Returns NULL when the mail can be sent, or else why not; *at points behind the
// mail either way.
const char *record_next(struct record *r, const char **at, const char *end);
