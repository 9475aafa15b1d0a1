// The text of a mail, made from a template.
//
// A template is a file: its first line is `Subject: …` in ASCII, an empty line follows, then the
// body in UTF-8. In the body {login}, {email}, {secret}, {code} and {site} are replaced; any other
// word between braces is an error, so that a misspelt word is found at the start and not by a
// customer.
#pragma once

#include "base/buf.h"
#include "sender/record.h"

struct template
{
    char *text;          // owned
    const char *subject; // within text, NUL-terminated
    const char *body;
};

// Takes a template from a file, or the built-in one when `path` is NULL.
bool template_init(
    struct template *t, enum token_action action, const char *path, struct err *e) MUST_USE;
void template_fini(struct template *t); // accepts a zeroed struct

// Appends the body, with the line ends that mails have.
bool mail_body(struct buf *out, const struct template *t, const struct record *r, const char *site,
    struct err *e) MUST_USE;

// Writes a Message-ID that is the same each time this token is sent, so that a receiver recognises
// a repeated mail. `from` gives the part behind the @.
#define MAIL_ID_LEN 400
bool mail_id(
    char out[MAIL_ID_LEN], const struct record *r, const char *from, struct err *e) MUST_USE;
