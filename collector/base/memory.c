#include "base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_LEAST 16
#define EXIT_CODE 70 // EX_SOFTWARE of sysexits.h

// Ends the program by _exit, because other threads may be at work, and what exit() calls may need
// memory, too.
static _Noreturn void end_program(void)
{
    fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
    _exit(EXIT_CODE);
}

void *memory_allocate(size_t size)
{
    void *bytes = malloc(size > 0 ? size : 1); // for no bytes malloc may return NULL

    if (!bytes)
        end_program();
    return bytes;
}

void *memory_zeroed(size_t count, size_t size)
{
    void *items = calloc(count > 0 ? count : 1, size);

    if (!items)
        end_program();
    return items;
}

char *memory_copy(const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        end_program();
    return copy;
}

char *memory_format(const char *fmt, ...)
{
    char *text;
    va_list args;

    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        end_program();
    return text;
}

// Returns how many items are allocated for an array of `count` items.
static size_t items_allocated(size_t count)
{
    size_t room = count > 0 ? ROOM_LEAST : 0;

    while (room < count)
        room *= 2;
    return room;
}

void memory_grow(void *items, size_t count, size_t more, size_t size)
{
    void *old, *moved;

    // With these bounds no size below can overflow.
    if (more > SIZE_MAX / 4 / size || count > SIZE_MAX / 4 / size)
        end_program();
    size_t room = items_allocated(count + more);
    if (room == items_allocated(count))
        return;
    // Only the caller knows the type of its pointer, so the pointer is copied as bytes.
    memcpy(&old, items, sizeof old);
    moved = realloc(old, room * size);
    if (!moved)
        end_program();
    memcpy(items, &moved, sizeof moved);
}

void memory_add_text(char ***texts, size_t *count, const char *text)
{
    memory_grow(texts, *count, 1, sizeof **texts);
    (*texts)[(*count)++] = memory_copy(text);
}

void memory_free_texts(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

void memory_free(void *pointer)
{
    void *bytes;

    memcpy(&bytes, pointer, sizeof bytes);
    free(bytes);
}
