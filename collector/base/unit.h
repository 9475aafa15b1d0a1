// Brings cmocka to a unit test, and the headers that cmocka wants before it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>

#include "base/base.h"

#include <cmocka.h>
