// mailproof doctor CONNINFO: tells what would break a collector or a run on that server.
#include "doctor/doctor.h"

#include "cli/cli.h"

static const char *const marks[] = {
    [WEIGHT_GOOD] = "ok",
    [WEIGHT_NOTE] = "note",
    [WEIGHT_BREAKS] = "BREAKS",
};

static void print_problems(size_t count)
{
    if (count == 0)
        fputs("none", stdout);
    else
        printf("%zu %s", count, NOUN(count, "problem", "problems"));
}

static void print_examination(const struct diagnosis *d, bool quiet)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        if (quiet && f->weight == WEIGHT_GOOD)
            continue;
        printf("  %-6s  %-13s  %s\n", marks[f->weight], f->about, f->what);
        if (*f->advice)
            printf("  %-6s  %-13s  -> %s\n", "", "", f->advice);
    }
    // The summary comes last, because the findings may have scrolled away.
    const size_t breaks = doctor_count(d, WEIGHT_BREAKS, CONCERNS_BOTH);
    const size_t notes = doctor_count(d, WEIGHT_NOTE, CONCERNS_BOTH);
    if (breaks == 0 && notes == 0)
        puts("no problems");
    else if (breaks == 0)
        printf("no problems; %zu %s\n", notes, NOUN(notes, "note", "notes"));
    else {
        fputs("a collector in this database: ", stdout);
        print_problems(doctor_count(d, WEIGHT_BREAKS, CONCERNS_COLLECTOR));
        fputs("; a run: ", stdout);
        print_problems(doctor_count(d, WEIGHT_BREAKS, CONCERNS_RUN));
        // A note that does not concern a collector says that this role cannot make a run.
        if (notes > doctor_count(d, WEIGHT_NOTE, CONCERNS_COLLECTOR))
            fputs(", but it needs another role", stdout);
        printf("; %zu %s\n", notes, NOUN(notes, "note", "notes"));
    }
}

int cli_doctor(const struct options *o)
{
    struct diagnosis d;
    struct err e = {0};

    if (!o->args[0] || o->args[1]) {
        err_set(&e, ERR_USAGE,
            "doctor: name one server, e.g. 'host=db.example dbname=mail user=mailroom'");
        return cli_fail(&e);
    }
    if (!doctor_examine(&d, o->args[0], &e))
        return cli_fail(&e);
    print_examination(&d, o->quiet);
    // As for a broken invariant, the exit code is 1.
    return doctor_count(&d, WEIGHT_BREAKS, CONCERNS_BOTH) > 0 ? 1 : EXIT_OK;
}
