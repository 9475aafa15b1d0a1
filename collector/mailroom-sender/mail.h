// A mail: its record in the collector's line, and its text, made from a template.
//
// A template is a file: its first line is `Subject: …` in ASCII, an empty line follows, then the
// body in UTF-8. In the body {login}, {email}, {secret}, {code} and {site} are replaced; any other
// opening brace is an error, so that a misspelt word is found at the start and not by a customer.
#pragma once

#include "wire/line.h"

// --- its record --------------------------------------------------------------

// One mail, as the collector's line has it: five fields, nothing quoted.
//
// The fields point into the line, which the caller keeps. Nothing that comes
// from outside is trusted: a field that could forge a header or an SMTP command
// is refused here. The collector refuses some such fields, but not, for example, a '>' in an
// address.

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
// the line ends. Returns NULL when the mail can be sent, or else why not; in both cases *at moves
// past the mail.
const char *record_next(struct record *r, const char **at, const char *end);

// --- its text ------------------------------------------------------------------------

struct template
{
    char *text;          // owned
    const char *subject; // within text, NUL-terminated
    const char *body;
};

// Takes a template from a file, or the built-in one when `path` is NULL. Call template_fini also on
// failure.
bool template_init(
    struct template *t, enum token_action action, const char *path, struct err *e) MUST_USE;
void template_fini(struct template *t); // accepts a zeroed struct

// Appends the body, with the line ends that mails have.
bool mail_body(struct buf *out, const struct template *t, const struct record *r, const char *site,
    struct err *e) MUST_USE;

#define MAIL_ID_LEN 400
// Writes a Message-ID that is the same each time this token is sent, so that a receiver recognises
// a repeated mail. `from` gives the part from the @ on.
bool mail_id(
    char out[MAIL_ID_LEN], const struct record *r, const char *from, struct err *e) MUST_USE;
