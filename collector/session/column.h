// Reads the columns of a binary answer.
#pragma once

#include <libpq-fe.h>

#include "wire/line.h"

// SQL's null gives 0, or a field without data. A number that does not have the expected size gives
// 0, too. A field points into the answer.
int64_t column_int64(const PGresult *r, int row, int column);
int32_t column_int32(const PGresult *r, int row, int column);
struct field column_field(const PGresult *r, int row, int column);
