// Makes and recognises the logins and addresses of accounts. These names identify a token wherever
// it turns up: in the database, in a line, in a torn line.
//
// A soak numbers its tokens anew in each of its segments. The first segment has the number 0, and
// so has a run that is no soak. In later segments the login ends with the segment's number, e.g.
// t0000042.7.
#pragma once

#include "base/base.h"

// Room for the longest plain name with its NUL.
#define NAMES_MAX 48

// A token's name in messages, e.g. t0000042: the login of its account.
#define NAMES_TOKEN "t%07" PRIu32

// Writes the login of a token's account, e.g. t0000042; returns its length.
size_t names_login(char out[NAMES_MAX], uint32_t token);

// Writes the address of a token's account, e.g. t0000042@mailproof.invalid (a domain that can
// receive no mail); returns its length.
size_t names_email(char out[NAMES_MAX], uint32_t token);

// Kinds of names. All names but the plain ones continue with a '~' and a tail. The wire format
// cannot carry the kinds from NAME_COMMA on.
enum name_shape {
    NAME_PLAIN,
    NAME_UTF8,    // letters of two, three and four bytes
    NAME_LONG,    // 254 characters, the most that the table accounts takes
    NAME_WIDEST,  // 254 characters, most of them of four bytes
    NAME_MIXED,   // capitals, UTF-8, and signs that some programs escape: & \ '
    NAME_COMMA,   // a comma makes one field too many
    NAME_QUOTE,   // a double quote misleads a reader that takes it for the start of a quoted field
    NAME_CONTROL, // a control character other than a newline
    NAME_NEWLINE, // a newline makes one line too many
    NAME_RECORD,  // looks like the end of one record and the beginning of another
    NAME_LINES,   // looks like two records on two lines
    NAME_SHAPES,
};

// 254 characters of four bytes, and a NUL.
#define NAMES_SHAPED_MAX (254 * 4 + 1)

struct names {
    char login[NAMES_SHAPED_MAX], email[NAMES_SHAPED_MAX];
};

// Fills in an account's login and email, both of this shape. But if the wire cannot carry the
// shape, the token's number decides whether the login, the email or both have it; a name that does
// not have it is plain.
void names_make(struct names *names, uint32_t token, uint32_t segment, enum name_shape shape);

// Fills in the new email (if `email`) or the new login that an account gets while its token waits.
// The other member of *names stays as it is.
void names_change(struct names *names, uint32_t token, uint32_t segment, bool email);

// Appends the text as a quoted element of a PostgreSQL array literal.
void names_quote(struct buf *out, const char *text);

// Reads the token and its segment from a login of any shape, changed or not. False when it does not
// begin like one of names_make; what follows a '~' is not looked at.
bool names_token(const char *login, size_t len, uint32_t *token, uint32_t *segment);
