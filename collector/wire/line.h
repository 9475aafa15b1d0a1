// Makes one line of a batch: action,email,login,secret,code for each token, joined by commas and
// closed by a newline. There is no quoting, so a token cannot be sent if its fields would break the
// format.
#pragma once

#include "wire/sign.h"

// A field as it came from the database; data is NULL for SQL's null.
struct field {
    const char *data;
    size_t len;
};

struct token {
    int64_t id;
    enum token_action action;
    struct field email;
    struct field login;
    struct field secret;
    struct field code;
};

// Returns why the wire cannot carry this token; NULL when it can.
const char *line_unsendable(const struct token *t);

// Appends one token, which must be sendable, to the line.
bool line_add(struct buf *line, struct sign *sign, const struct token *t, struct err *e) MUST_USE;

// Appends the newline that ends the line.
bool line_end(struct buf *line, struct err *e) MUST_USE;
