// Investigates draws that broke something, one step at a time between the runs of the search.
//
// A suspect is run twice more. If it fails again, `mailproof shrink` makes its scenario smaller, in
// a separate process, because shrinking takes up to a hundred runs and must not hold up the search.
// The failure is named by what broke and by the verbs that are left, and its scenario is stored in
// found/. A suspect that never fails again is stored, too, as not repeated.
#include "explore/exploring.h"

#include <signal.h>

#include "options/options.h"
#include "os/paths.h"
#include "os/process.h"

#define CONFIRMATIONS 2 // number of further runs of each suspect
#define SHRINK_WITHIN "90s"
#define TEXT_MAX (1u << 20)

static const int64_t shrink_end_ns = 40 * NS_PER_S; // how long a shrink may take to end after TERM

// --- names and files ----------------------------------------------------------------------

// Stores the scenario in found/ under the failure's name.
static bool store_found(struct exploring *x, struct failure *f, struct scenario *s, struct err *e)
{
    char file[FAILURE_NAME_MAX + 8], summary[300], broken[160], path[1000];
    struct buf yaml FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    tried_broken_text(f->broken, broken, sizeof broken);
    snprintf(summary, sizeof summary, "Explore found this in draw %llu of seed %llu: %s.",
        (unsigned long long)f->draw, (unsigned long long)x->seed, broken);
    snprintf(file, sizeof file, "%s.yaml", f->name);
    scenario_replace(&s->name, f->name);
    scenario_replace(&s->summary, summary);
    return exploring_path(x, path, "found", file, e) && scenario_write(s, &yaml, e) &&
           file_write("out", path, &yaml, e);
}

// Loads the shrunk scenario, which has the changes by --set already, or else the drawn one.
static bool load_smallest(
    const struct exploring *x, const struct suspect *s, struct scenario *out, struct err *e)
{
    return (*s->output && path_exists(s->output) &&
               scenario_load(out, s->output, &(struct overrides){0}, e)) ||
           scenario_load(out, s->path, &x->sets, e);
}

// Finishes a suspect: names its failure, stores its scenario and adds it to the journal. When a
// known failure has the same name, the file of the lower draw number stays, whichever ended first.
static bool conclude_suspect(struct exploring *x, struct suspect *s, struct err *e)
{
    struct failure f = {
        .draw = s->tried.number, .asked = s->ended, .confirmed = s->failed, .found_s = s->found_s};
    struct scenario small FREED_BY(scenario_fini) = {0};

    // The suspect is over in any case, because one that cannot be stored must not be tried again
    // and again.
    s->state = SUSPECT_OVER;
    if (!load_smallest(x, s, &small, e))
        return false;
    failure_describe(&f, &small, s->tried.broken);
    snprintf(f.example, sizeof f.example, "%s", s->example);
    const struct failure *known = journal_failure(&x->journal, f.name);
    bool file_stays = known && known->draw < f.draw;
    bool ok = (file_stays || store_found(x, &f, &small, e)) && journal_found(&x->journal, &f, e);
    if (ok && !x->options->quiet)
        printf("found: %s (draw %llu, %s: %u of %u)%s\n", f.name, (unsigned long long)f.draw,
            f.confirmed > 0 ? "failed again"
            : f.asked > 0   ? "could not be repeated"
                            : "not run again",
            f.confirmed, f.asked, file_stays ? ", as before" : "");
    fflush(stdout);
    if (*s->output)
        unlink(s->output);
    return ok;
}

// --- further runs ---------------------------------------------------------------------------

bool suspects_add(struct exploring *x, const struct tried *t, const char *draw_path,
    const char *folder, const char *example)
{
    // A broken collector breaks something in nearly every draw. To investigate all these draws
    // would use up the time of the search.
    if (journal_explains(&x->journal, t) || x->suspect_count == EXPLORING_SUSPECTS_MAX)
        return false;
    struct suspect *s = &x->suspects[x->suspect_count++];
    *s = (struct suspect){.state = SUSPECT_TO_CONFIRM, .tried = *t};
    s->found_s = exploring_seconds(x);
    snprintf(s->path, sizeof s->path, "%s", draw_path);
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    snprintf(s->example, sizeof s->example, "%s", example);
    return true;
}

struct suspect *suspects_begin_further_run(struct exploring *x)
{
    for (size_t i = 0; i < x->suspect_count; i++) {
        struct suspect *s = &x->suspects[i];
        if (s->state == SUSPECT_TO_CONFIRM && s->ended + s->running < CONFIRMATIONS) {
            s->running++;
            return s;
        }
    }
    return NULL;
}

// True when there is an invariant that both draws broke.
static bool breaks_the_same(const struct tried *a, const struct tried *b)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (a->broken[id] && b->broken[id])
            return true;
    }
    return false;
}

// After enough further runs a suspect that failed again is shrunk, and any other is concluded. With
// --fail-fast, which wants an answer soon, no suspect is shrunk, and the first further failure is
// enough.
bool suspects_answer(struct exploring *x, struct suspect *s, const struct tried *t, struct err *e)
{
    s->running--;
    s->ended++;
    // A run counts as failed again only if it breaks one of the same invariants.
    s->failed += t && breaks_the_same(&s->tried, t);
    bool enough = s->ended == CONFIRMATIONS || (x->options->fail_fast && s->failed > 0);
    // With --fail-fast the suspect may be concluded already when its other run ends.
    if (!enough || s->state != SUSPECT_TO_CONFIRM)
        return true;
    if (s->failed > 0 && !x->options->fail_fast) {
        s->state = SUSPECT_TO_SHRINK;
        return true;
    }
    return conclude_suspect(x, s, e);
}

// --- shrinking ------------------------------------------------------------------------------

// Returns the invariant that the shrunk scenario must break: the first of --breaks that the suspect
// broke. NULL without --breaks: shrink then keeps the worst.
static const char *invariant_to_keep(const struct exploring *x, const struct suspect *s)
{
    for (enum metric_id id = 0; x->options->breaks && id < METRIC_COUNT; id++) {
        if (s->tried.broken[id] && x->wanted[id])
            return metrics[id].name;
    }
    return NULL;
}

// Starts `mailproof shrink` for a suspect.
static bool start_shrink(struct exploring *x, struct suspect *s, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    char name[60], log[1000], out[1000];
    // The result is trusted, because the search itself made it.
    const char *argv[20] = {"/proc/self/exe", "shrink", s->folder, "--within", SHRINK_WITHIN,
        "--quiet", "--output", s->output, "--out", out, "--trust"};
    size_t count = 11; // number of arguments so far
    const char *keep = invariant_to_keep(x, s);

    snprintf(name, sizeof name, "shrunk-%llu.yaml", (unsigned long long)s->tried.number);
    if (!exploring_path(x, s->output, "draws", name, e) ||
        !exploring_path(x, out, "runs", "shrink", e) ||
        !exploring_path(x, log, "logs", "shrink.log", e))
        return false;
    if (x->options->collector) {
        argv[count++] = "--collector";
        argv[count++] = x->options->collector;
    }
    if (x->options->conninfo) {
        argv[count++] = "--postgres";
        argv[count++] = x->options->conninfo;
    }
    if (keep) {
        argv[count++] = "--breaks";
        argv[count++] = keep;
    }
    // Write its messages to a log, to keep them out of the search's progress.
    FILE *file = fopen(log, "ae");
    if (!file)
        return err_sys(e, ERR_SYSTEM, "cannot write %s", log);
    spec.argv = argv;
    spec.out = spec.err = fileno(file);
    spec.death_signal = SIGTERM;
    s->shrink = process_start(&spec, e);
    fclose(file);
    s->state = SUSPECT_SHRINKING;
    return s->shrink > 0;
}

// Concludes a suspect if the process that shrinks it has ended.
static bool finish_shrunk(struct exploring *x, struct suspect *s, struct err *e)
{
    int status;

    if (!process_wait(s->shrink, 0, &status))
        return true;
    // The status does not matter: if shrink has written no scenario, the drawn one is stored.
    s->shrink = 0;
    return conclude_suspect(x, s, e);
}

bool suspects_shrink(struct exploring *x, int places, int *shrinking, struct err *e)
{
    bool ok = true;

    *shrinking = 0;
    // First take those that have ended, because that frees places for others.
    for (size_t i = 0; ok && i < x->suspect_count; i++) {
        if (x->suspects[i].state == SUSPECT_SHRINKING)
            ok = finish_shrunk(x, &x->suspects[i], e);
        *shrinking += x->suspects[i].state == SUSPECT_SHRINKING;
    }
    for (size_t i = 0; ok && i < x->suspect_count && *shrinking < places; i++) {
        if (x->suspects[i].state != SUSPECT_TO_SHRINK)
            continue;
        ok = start_shrink(x, &x->suspects[i], e);
        ++*shrinking;
    }
    return ok;
}

size_t suspects_open(const struct exploring *x)
{
    size_t count = 0;

    for (size_t i = 0; i < x->suspect_count; i++)
        count += x->suspects[i].state != SUSPECT_OVER;
    return count;
}

bool suspects_end(struct exploring *x, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; i < x->suspect_count; i++) {
        struct suspect *s = &x->suspects[i];
        if (s->shrink > 0)
            // At TERM, shrink writes the smallest scenario that it has found so far.
            process_end(s->shrink, SIGTERM, shrink_end_ns);
        s->shrink = 0;
        if (ok && s->state != SUSPECT_OVER)
            ok = conclude_suspect(x, s, e);
    }
    return ok;
}
