// An error as one value that travels up to the function that decides what to do.
//
// A fallible function returns bool (true: done) and fills the caller's struct
// err on failure. The kind, with sqlstate and sys_errno, decides whether to retry, which exit code
// to use, or to abort; the text never does. It is shown to the user and is a full sentence without
// the final full stop. A function that passes an error on does not print it.
#pragma once

#include <stdbool.h>
#include <stdarg.h>

enum err_kind {
    ERR_NONE,
    ERR_USAGE,       // a wrong option, setting or scenario: the user can fix it
    ERR_SCHEMA,      // the database is there but its schema does not fit
    ERR_CONNECTION,  // the connection died or cannot be made: try again
    ERR_SQL,         // the server refused a statement; sqlstate says why
    ERR_OUTPUT,      // the reader of our output is gone or cannot take more
    ERR_SYSTEM,      // the machine or a process failed us; sys_errno says why, if it is known
    ERR_SKIP,        // this machine lacks something that the step needs, so it is skipped
    ERR_INTERRUPTED, // a signal asked us to end
    ERR_INTERNAL,    // a bug, of ours or of a server or library that we use
};

struct err {
    enum err_kind kind;
    int sys_errno;    // 0 unless the operating system named a reason
    char sqlstate[6]; // "" unless the server named a reason
    char text[1024];
};

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
// Behind a local variable, which must be initialized there: fini(&variable) is called when its
// block is left, in whatever way.
#define FREED_BY(fini) __attribute__((cleanup(fini)))

// Fills *e and returns false, so that a caller can `return err_set(e, …)`.
bool err_set(struct err *e, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);

// Like err_set, and appends ": " and strerror(errno) to the text.
bool err_sys(struct err *e, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);

// Puts the formatted text and ": " in front of the text that *e has already; keeps the kind.
// Returns false.
bool err_prefix(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

// Fills *e with ERR_SYSTEM and ENOMEM, because memory ran out. err_memory_for also names what the
// memory was for, an amount that a setting or a scenario asked for, such as "%d lines". Both return
// false.
bool err_memory(struct err *e);
bool err_memory_for(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

void err_clear(struct err *e);

// clang's analyzer sees one file at a time and does not know that these functions return false.
// Without these macros it would analyse impossible paths, on which the caller goes on after a
// failure.
#if defined(__clang_analyzer__) && !defined(ERR_ITSELF)
#define err_set(...) (err_set(__VA_ARGS__), false)
#define err_sys(...) (err_sys(__VA_ARGS__), false)
#define err_prefix(...) (err_prefix(__VA_ARGS__), false)
#define err_memory(e) (err_memory(e), false)
#define err_memory_for(...) (err_memory_for(__VA_ARGS__), false)
#endif
