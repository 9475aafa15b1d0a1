#include "column.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

int64_t column_int64(const PGresult *r, int row, int column)
{
    uint64_t big;

    if (PQgetisnull(r, row, column))
        return 0;
    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int64_t)be64toh(big);
}

int32_t column_int32(const PGresult *r, int row, int column)
{
    uint32_t big;

    if (PQgetisnull(r, row, column))
        return 0;
    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int32_t)be32toh(big);
}

struct field column_field(const PGresult *r, int row, int column)
{
    if (PQgetisnull(r, row, column))
        return (struct field){0};
    return (struct field){
        .data = PQgetvalue(r, row, column), .len = (size_t)PQgetlength(r, row, column)};
}
