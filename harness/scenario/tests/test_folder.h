// Shared by the tests of scenarios: a folder of their own, and the smallest valid scenario.
// Each test program includes it once.
#pragma once

#include "base/unit.h"

// The test works in a folder of its own, so that the place in an error is just
// "x.yaml:LINE:COLUMN".
#define FILE_NAME "x.yaml"
#define HEAD "name: x\nsummary: A test.\n"
#define LOAD "load:\n  - for: 20s\n    rate: 200/s\n"

static void write_file(const char *name, const char *text, size_t len)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static char folder[] = "/tmp/scenario-test-XXXXXX";

static int enter_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    unlink(FILE_NAME);
    unlink("scenario.yaml");
    unlink("long.csv");
    unlink("recorded.csv");
    unlink("arrivals-again.csv");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}
