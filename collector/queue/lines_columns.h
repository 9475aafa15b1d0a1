// The columns of the binary answers to sql/lines.sql and, with the last three, to sql/read.sql.
#pragma once

#include "session/column.h"

// migrations/README.md says what they mean, at mailroom_take and mailroom_read. Two are of
// sql/lines.sql itself: LINES_NOW, its snapshot, and LINES_BUSY, which takes the lock for work in
// hand.
enum {
    LINES_KIND,
    LINES_LINE,
    LINES_NONCE,
    LINES_TOKEN,
    LINES_NUMBER,
    LINES_ERRORS,
    LINES_EMAIL,
    LINES_LOGIN,
    LINES_SECRET,
    LINES_CODE,
    LINES_MORE,
    LINES_EXPIRED,
    LINES_CONSUMED,
    LINES_OTHERS,
    LINES_WAIT,
    LINES_NEXT_DUE,
    LINES_ALONE,
    LINES_REST,
    LINES_NOW,
    LINES_BUSY,
    LINES_PLACE,
    LINES_COLUMNS,
    LINES_PART = LINES_COLUMNS,
    LINES_XID,
    LINES_PASSED,
    LINES_READ_COLUMNS
};

// Kinds of rows. Any other value is the action of a token.
enum {
    LINES_HEAD = 0,       // the head of the answer
    LINES_WAITS = 3,      // a token that waits and was not taken
    LINES_LOST = 4,       // a line that was no longer ours
    LINES_PASSED_OVER = 5 // a token that a read passed over
};

static inline bool lines_is_token(int kind)
{
    return kind == TOKEN_ACTIVATION || kind == TOKEN_PASSWORD_RECOVERY;
}

static inline struct token lines_token(const PGresult *r, int row)
{
    return (struct token){.id = column_int64(r, row, LINES_TOKEN),
        .action = (enum token_action)column_int32(r, row, LINES_KIND),
        .email = column_field(r, row, LINES_EMAIL),
        .login = column_field(r, row, LINES_LOGIN),
        .secret = column_field(r, row, LINES_SECRET),
        .code = column_field(r, row, LINES_CODE)};
}
