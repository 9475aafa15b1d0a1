#include "run/cuts/cuts.h"

bool cuts_tried(const struct options *o)
{
    return o->run.every_cut || o->run.every_kill;
}

bool cuts_run(const struct scenario *s, const struct options *o, const struct run_options *run,
    struct record *record, uint64_t item, struct run_outcome *outcome, struct err *e)
{
    struct message_kind only;
    struct everycut_options how = {
        .action = o->run.every_kill ? ACTION_KILL : ACTION_CUT,
        .only = o->cut_at ? &only : NULL,
        .pairs = (size_t)o->run.pairs,
        .record = record,
        .item = item,
    };

    return (!o->cut_at || message_kind_parse(o->cut_at, &only, e)) &&
           everycut_run(s, run, &how, outcome, e);
}

// Returns the option that asks for trials in place of a run; NULL: none does.
static const char *trials_option(const struct options *o)
{
    return o->run.every_flush  ? "--every-flush"
           : o->run.every_kill ? "--every-kill"
           : o->run.every_cut  ? "--every-cut"
                               : NULL;
}

bool cuts_possible(const struct options *o, struct err *e)
{
    const char *trials = trials_option(o);
    const char *other = o->run.keep      ? "keep"
                        : o->run.metrics ? "metrics"
                        : o->run.workers ? "workers"
                                         : NULL;
    struct message_kind kind;

    if (o->run.every_cut && o->run.every_kill)
        return err_set(e, ERR_USAGE, "--every-cut and --every-kill do not go together");
    if (o->run.every_flush && cuts_tried(o))
        return err_set(e, ERR_USAGE, "--every-%s does not go with --every-flush",
            o->run.every_kill ? "kill" : "cut");
    if (trials && other)
        return err_set(e, ERR_USAGE, "--%s does not go with %s", other, trials);
    if (!cuts_tried(o) && (o->cut_at || o->run.pairs))
        return err_set(e, ERR_USAGE, "--%s goes with --every-cut or --every-kill",
            o->cut_at ? "cut-at" : "pairs");
    if (!o->cut_at)
        return true;
    if (!message_kind_parse(o->cut_at, &kind, e))
        return err_prefix(e, "--cut-at");
    // Points are made from the number of messages of a kind, whatever their tags.
    return !*kind.tag ||
           err_set(e, ERR_USAGE, "--cut-at takes no command's tag; leave '%s' out", kind.tag);
}

// Refuses what a trial cannot have: another queue than our own, a standby and, except with
// --every-flush, a second collector. --every-flush needs a crashable disk.
bool cuts_fit(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e)
{
    const char *trials = trials_option(o);

    for (size_t i = 0; trials && i < count; i++) {
        const struct scenario *s = &scenarios[i];
        const char *what = scenario_is_queue(s)                  ? "a queue of another kind"
                           : s->postgres.standby != STANDBY_NONE ? "postgres.standby"
                           : s->collector.instances > 1 && !o->run.every_flush
                               ? "more than one of collector.instances"
                               : NULL;
        if (what)
            return err_set(e, ERR_USAGE, "%s: %s does not go with %s", s->name, what, trials);
        if (o->run.every_flush && s->postgres.storage != STORAGE_CRASHABLE)
            return err_set(
                e, ERR_USAGE, "%s: --every-flush needs postgres.storage: crashable", s->name);
    }
    return true;
}
