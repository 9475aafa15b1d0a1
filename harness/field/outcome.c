#include "field/outcome.h"

#include <math.h>
#include <stdarg.h>

#include "scenario/promises.h"

// A cell counts as broken when at least this many of its runs break a promise.
#define CONVICTS_FROM 2

static const struct {
    const char *one, *many;
    int promise; // the promise that is broken when the figure is above 0
} figures[FIGURE_KINDS] = {
    [FIGURE_LOST] = {"missing", "missing", PROMISE_NO_LOSS},
    [FIGURE_LEFT] = {"left", "left", PROMISE_NO_LOSS},
    [FIGURE_AGAIN] = {"again", "again", PROMISE_ONCE},
    [FIGURE_EXITS] = {"exit", "exits", PROMISE_RECONNECT},
};

static void append_words(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void append_words(char *text, size_t size, const char *fmt, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + len, size - len, fmt, args);
    va_end(args);
}

// Returns a figure; 0 when it is not known.
static double count_of(const struct seen *s, enum figure figure)
{
    const double counts[FIGURE_KINDS] = {s->lost, s->left, s->again, s->exits};

    return counts[figure] > 0 ? counts[figure] : 0;
}

// Returns how much of a figure has this meaning, such as how many of the missing jobs break a
// promise. A documented late retry excuses as many jobs as workers had taken, but no more: a job
// that no worker took does not wait for a retry.
static double count_meaning(
    const struct seen *s, enum figure figure, enum meaning meaning, const struct terms *t)
{
    const bool may_wait = t->retry_s > 0 && figures[figure].promise == PROMISE_NO_LOSS;
    const bool promised = t->promises & figures[figure].promise;
    double count = count_of(s, figure);
    double documented = may_wait ? fmin(count, s->taken) : 0;

    if (meaning == MEANS_DOCUMENTED)
        return documented;
    // The rest is MEANS_BROKEN if there is a promise against it, otherwise MEANS_UNPROMISED.
    return promised == (meaning == MEANS_BROKEN) ? count - documented : 0;
}

// True when the run can be judged. Where a late retry is documented, only jobs that workers had
// taken may wait for it. If their number (`taken`) is not known, missing jobs can be neither
// excused nor held against the queue.
static bool may_judge(const struct seen *s, const struct terms *t)
{
    const double waiting = count_of(s, FIGURE_LOST) + count_of(s, FIGURE_LEFT);

    return s->judged && !(t->retry_s > 0 && waiting > 0 && isnan(s->taken));
}

// True when this run breaks a promise: there are lost jobs, exits or the like against a promise,
// and more than the queue documents.
static bool outcome_convicts(const struct seen *s, const struct terms *t)
{
    for (enum figure f = 0; may_judge(s, t) && !s->missed && f < FIGURE_KINDS; f++) {
        if (count_meaning(s, f, MEANS_BROKEN, t) > 0)
            return true;
    }
    return false;
}

void outcome_tell(const struct seen *s, const struct terms *t, char *text, size_t size)
{
    const char *before = "";

    if (!outcome_convicts(s, t)) {
        const char *unbroken = may_judge(s, t) ? "kept" : "inconclusive";
        append_words(text, size, "%s", s->missed ? "no target" : unbroken);
        return;
    }
    for (enum figure f = 0; f < FIGURE_KINDS; f++) {
        double count = count_meaning(s, f, MEANS_BROKEN, t);
        if (!(count > 0))
            continue;
        append_words(
            text, size, "%s%.0f %s", before, count, NOUN(count, figures[f].one, figures[f].many));
        before = ", ";
    }
}

// Widens the range so that it holds this count.
static void widen_figure_range(struct range *r, double count)
{
    // Runs with a count of 0 do not widen the range: "0 to 3 missing" would say less than "3
    // missing, in 2 of 10".
    if (!(count > 0))
        return;
    r->least = r->least > 0 && r->least < count ? r->least : count;
    r->most = r->most > count ? r->most : count;
}

void outcome_add(struct outcome *o, const struct seen *s, const struct terms *t)
{
    o->missed = o->missed || s->missed;
    // A run that was inconclusive, or whose fault found no target, shows nothing.
    if (!may_judge(s, t) || s->missed)
        return;
    o->judged++;
    o->broken += outcome_convicts(s, t);
    o->died = o->died || s->died;
    // The consumer is deaf only if it lived on and left jobs that no worker had taken. Jobs that a
    // dead worker still holds do not count.
    o->deaf += s->deaf && !(s->exits > 0) && s->lost > fmax(0, s->taken);
    for (enum meaning m = 0; m < MEANINGS; m++) {
        for (enum figure f = 0; f < FIGURE_KINDS; f++)
            widen_figure_range(&o->ranges[m][f], count_meaning(s, f, m, t));
    }
    // A job that waits for its retry is counted as left, and also as missing unless its handler has
    // ended. Where the run could not count one of the two, it is 0 here, so the larger one counts.
    widen_figure_range(&o->waiting, fmax(count_meaning(s, FIGURE_LOST, MEANS_DOCUMENTED, t),
                                        count_meaning(s, FIGURE_LEFT, MEANS_DOCUMENTED, t)));
    o->recovery_ms = fmax(o->recovery_ms, s->recovery_ms); // fmax leaves out NAN
    o->last = *s;
}

// Appends `before` and the ranges of those figures whose promise is in `of_promises` (bits of enum
// promise), such as "1 to 3 exits". Without any, nothing is appended.
static void tell_ranges(
    const struct range *ranges, int of_promises, const char *before, char *text, size_t size)
{
    bool any = false;

    for (enum figure f = 0; f < FIGURE_KINDS; f++) {
        const struct range *r = &ranges[f];
        if (!(r->most > 0) || !(figures[f].promise & of_promises))
            continue;
        append_words(text, size, "%s", any ? ", " : before);
        if (r->most > r->least)
            append_words(text, size, "%.0f to ", r->least);
        append_words(
            text, size, "%.0f %s", r->most, NOUN(r->most, figures[f].one, figures[f].many));
        any = true;
    }
}

// Appends how many runs broke promises, and the ranges of what broke them. Returns the cell's mark.
static enum cell_mark tell_broken(const struct outcome *o, struct cell *c)
{
    bool convicted = o->broken >= CONVICTS_FROM;

    append_words(c->text, sizeof c->text, "%s %d of %d", convicted ? "broken" : "doubtful",
        o->broken, o->judged);
    tell_ranges(o->ranges[MEANS_BROKEN], ~0, ": ", c->text, sizeof c->text); // ~0: all promises
    // The pages quote the documentation's words for just these promises.
    for (enum figure f = 0; f < FIGURE_KINDS; f++)
        c->broken |= o->ranges[MEANS_BROKEN][f].most > 0 ? figures[f].promise : 0;
    return convicted ? CELL_BROKEN : CELL_DOUBTFUL;
}

// Appends how many jobs wait for a documented late retry, and which. The retry is documented for
// the jobs of a worker that died. Where none died, a living worker holds jobs that it will never
// finish, and the reader must learn that.
static void tell_waiting(const struct outcome *o, const struct terms *t, struct cell *c)
{
    const size_t size = sizeof c->text;

    append_words(c->text, size, o->died ? "as documented: " : "held: ");
    if (o->waiting.most > o->waiting.least)
        append_words(c->text, size, "%.0f to ", o->waiting.least);
    append_words(c->text, size, "%.0f %s", o->waiting.most, NOUN(o->waiting.most, "job", "jobs"));
    if (o->died)
        append_words(c->text, size, " %s for a retry", NOUN(o->waiting.most, "waits", "wait"));
    else
        append_words(c->text, size, " of a living worker until a retry");
    append_words(c->text, size, " (%.0f min%s%s)", t->retry_s / 60,
        t->retry_default ? "; by default " : "", t->retry_default ? t->retry_default : "");
}

// Appends the verdict of a cell whose runs broke no promise, and returns its mark. Jobs that were
// delivered again without a promise against it are the price of "at least once"; they are shown
// after the verdict and do not change it.
static enum cell_mark tell_unbroken(const struct outcome *o, const struct terms *t, struct cell *c)
{
    const struct range *unpromised = o->ranges[MEANS_UNPROMISED];
    const size_t size = sizeof c->text;
    enum cell_mark mark = CELL_OTHER;

    if (o->waiting.most > 0)
        tell_waiting(o, t, c);
    tell_ranges(unpromised, ~PROMISE_ONCE,
        c->text[0] ? "; not promised: " : "not promised: ", c->text, size);
    if (!c->text[0]) {
        append_words(c->text, size, "kept");
        if (o->judged > 1)
            append_words(c->text, size, " %d of %d", o->judged, o->judged);
        mark = CELL_KEPT;
    }
    tell_ranges(unpromised, PROMISE_ONCE, "; ", c->text, size);
    return mark;
}

// Appends how often the jobs that always fail were tried, and what became of them.
static void tell_attempts(const struct seen *s, char *text, size_t size)
{
    append_words(text, size, "; %.0f attempt%s", s->attempts, s->attempts > 1 ? "s" : "");
    // Gaps that differ by less than the printed 0.1 s are shown as one number. There is no gap
    // (NAN) when no attempt ended by failing before the next one began.
    if (s->attempts > 1 && s->gap_max_ms - s->gap_min_ms < 100)
        append_words(text, size, ", %.1f s apart", s->gap_max_ms / 1000);
    else if (s->attempts > 1 && !isnan(s->gap_max_ms))
        append_words(
            text, size, ", %.1f to %.1f s apart", s->gap_min_ms / 1000, s->gap_max_ms / 1000);
    // The queue keeps s->failed jobs as failed, and s->retried jobs wait for a further attempt.
    if (s->failed >= s->failing)
        append_words(text, size, ", then kept as failed");
    else if (isnan(s->retried)) // the queue cannot be asked for the jobs that are left
        append_words(text, size, "; what became of them is not known");
    else
        append_words(
            text, size, s->retried > 0 ? "; still tried at the end of the run" : ", then gone");
}

// Appends the answer to what the question asks besides the verdict.
static void tell_answer(const struct outcome *o, const struct terms *t, char *text, size_t size)
{
    const struct seen *s = &o->last;

    switch (o->asks) {
    case ASKS_SPEED:
        break;
    case ASKS_RECOVERY:
        // After a broken promise, tell no time: with jobs missing, the time until other jobs came
        // would read as a recovery.
        if (o->broken == 0 && o->recovery_ms < 100)
            append_words(text, size, "; back in under 0.1 s");
        else if (o->broken == 0 && !isnan(o->recovery_ms))
            append_words(text, size, "; back in %.1f s", o->recovery_ms / 1000);
        break;
    case ASKS_RERUN:
        if (!isnan(s->rerun_ms))
            append_words(text, size, "; again after %.1f s", s->rerun_ms / 1000);
        if (!isnan(s->rerun_ms) && t->retry_default)
            append_words(text, size, " (by default %s)", t->retry_default);
        break;
    case ASKS_AT_ONCE:
        if (s->at_once > 0)
            append_words(text, size, "; %.0f at once with another of the same job", s->at_once);
        break;
    case ASKS_ATTEMPTS:
        if (s->failing > 0)
            tell_attempts(s, text, size);
        break;
    }
}

void outcome_cell(const struct outcome *o, const struct terms *t, struct cell *c)
{
    const size_t size = sizeof c->text;

    c->text[0] = '\0';
    c->broken = 0;
    if (o->missed && o->judged == 0) {
        c->mark = CELL_EMPTY;
        append_words(c->text, size, "not asked: no target");
        return;
    }
    // Inconclusive runs do not show that promises are kept, so the cell is doubtful.
    if (o->judged == 0) {
        c->mark = CELL_DOUBTFUL;
        append_words(c->text, size, "doubtful: inconclusive");
        return;
    }
    c->mark = o->broken > 0 ? tell_broken(o, c) : tell_unbroken(o, t, c);
    if (o->deaf > 0)
        append_words(c->text, size, "; alive but deaf in %d", o->deaf);
    tell_answer(o, t, c->text, size);
}
