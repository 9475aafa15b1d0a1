#include "session/column.h"

#include <endian.h>

// Copies a number as the server sent it. Leaves 0, which is the same in each byte order, for null
// and for what is no number of this size.
static void copy_number(const PGresult *r, int row, int column, void *big, size_t size)
{
    if (PQgetisnull(r, row, column))
        return;
    // A server that does not keep to the protocol must not make us read past its value.
    if ((size_t)PQgetlength(r, row, column) != size)
        return;
    memcpy(big, PQgetvalue(r, row, column), size);
}

int64_t column_int64(const PGresult *r, int row, int column)
{
    uint64_t big = 0;

    copy_number(r, row, column, &big, sizeof big);
    return (int64_t)be64toh(big);
}

int32_t column_int32(const PGresult *r, int row, int column)
{
    uint32_t big = 0;

    copy_number(r, row, column, &big, sizeof big);
    return (int32_t)be32toh(big);
}

struct field column_field(const PGresult *r, int row, int column)
{
    if (PQgetisnull(r, row, column))
        return (struct field){0};
    return (struct field){
        .data = PQgetvalue(r, row, column), .len = (size_t)PQgetlength(r, row, column)};
}
