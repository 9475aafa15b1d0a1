// What a unit test includes: cmocka, and what cmocka wants before it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>

#include "base/base.h"

#include <cmocka.h>
