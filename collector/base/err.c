#define ERR_ITSELF
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

bool err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
    va_list args;

    *e = (struct err){.kind = kind};
    va_start(args, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, args);
    va_end(args);
    // The text may have parts from elsewhere, and a cut may have split a character.
    utf8_mend(e->text);
    return false;
}

bool err_sys(struct err *e, enum err_kind kind, const char *fmt, ...)
{
    int saved = errno;
    va_list args;

    *e = (struct err){.kind = kind, .sys_errno = saved};
    va_start(args, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, args);
    va_end(args);

    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, ": %s", strerror(saved));
    utf8_mend(e->text);
    return false;
}

bool err_prefix(struct err *e, const char *fmt, ...)
{
    char old[sizeof e->text];
    va_list args;

    memcpy(old, e->text, sizeof old);
    va_start(args, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, args);
    va_end(args);

    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, ": %s", old);
    utf8_mend(e->text);
    return false;
}

bool err_memory(struct err *e)
{
    err_set(e, ERR_SYSTEM, "out of memory");
    e->sys_errno = ENOMEM;
    return false;
}

bool err_memory_for(struct err *e, const char *fmt, ...)
{
    char what[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    err_set(e, ERR_SYSTEM, "out of memory for %s", what);
    e->sys_errno = ENOMEM;
    return false;
}

void err_clear(struct err *e)
{
    *e = (struct err){0};
}
