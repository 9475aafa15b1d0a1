#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 16

// Returns how many items are allocated for an array of `count` items.
static size_t room_for(size_t count)
{
    size_t room = count > 0 ? ROOM_LEAST : 0;

    while (room < count)
        room *= 2;
    return room;
}

bool array_grow(void *items, size_t count, size_t more, size_t size)
{
    void *old, *moved;

    // With these bounds no size below can overflow.
    if (more > SIZE_MAX / 4 / size || count > SIZE_MAX / 4 / size)
        return false;
    size_t room = room_for(count + more);
    if (room == room_for(count))
        return true;
    // Only the caller knows the type of its pointer, so the pointer is copied as bytes.
    memcpy(&old, items, sizeof old);
    moved = realloc(old, room * size);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    return true;
}

bool array_add_text(char ***texts, size_t *count, const char *text, struct err *e)
{
    char *copy = array_grow(texts, *count, 1, sizeof copy) ? strdup(text) : NULL;

    if (!copy)
        return err_memory(e);
    (*texts)[(*count)++] = copy;
    return true;
}
