// Random numbers from OpenSSL, for names that no other process may have, and for seeds.
#pragma once

#include "base/base.h"

// Fails with ERR_INTERNAL.
bool random_fill(void *bytes, size_t len, struct err *e) MUST_USE;
