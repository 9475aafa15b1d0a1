#include "options/subjects.h"

#include "scenario/grammar.h"
#include "scenario/needs.h"
#include "subject/manifest.h"

char *subjects_promises_override(int promises)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1000);

    buf_append_str(&text, "collector.promises=[");
    words_print(promise_words, promises, &text);
    buf_append_char(&text, ']');
    return memory_copy(buf_str(&text));
}

// Makes the overrides of --subject: the subject's name, that its tables are not ours (layout
// foreign), and the promises that its manifest names.
static bool take_subject(struct subject_sets *sets, const char *name, struct err *e)
{
    struct manifest m FREED_BY(manifest_fini) = {0};
    bool ok = manifest_load(&m, name, e);

    if (ok) {
        sets->texts[0] = memory_format("collector.subject=%s", name);
        sets->texts[1] = memory_copy("collector.layout=foreign");
        sets->texts[2] = subjects_promises_override(m.promises.flags);
    }
    return ok;
}

bool subjects_sets(struct subject_sets *sets, const struct options *o, struct err *e)
{
    struct overrides own = options_overrides(o);
    bool is_other = o->run.subject && strcmp(o->run.subject, SUBJECT_MAILROOM) != 0;
    size_t count = 0;

    *sets = (struct subject_sets){0};
    if (is_other && !take_subject(sets, o->run.subject, e))
        return false;
    sets->items = memory_zeroed(own.count + SUBJECT_SETS, sizeof *sets->items);
    for (size_t i = 0; is_other && i < SUBJECT_SETS; i++)
        sets->items[count++] = sets->texts[i];
    // The overrides of the other options come last, so that they prevail over the subject's.
    for (size_t i = 0; i < own.count; i++)
        sets->items[count++] = own.items[i];
    sets->overrides = own;
    sets->overrides.items = sets->items;
    sets->overrides.count = count;
    return true;
}

void subjects_sets_fini(struct subject_sets *sets)
{
    for (size_t i = 0; i < SUBJECT_SETS; i++)
        free(sets->texts[i]);
    free(sets->items);
    *sets = (struct subject_sets){0};
}

// True when the scenario's subject puts the jobs by a client of its own.
static bool has_own_client(const struct scenario *s)
{
    struct manifest m FREED_BY(manifest_fini) = {0};
    struct err ignored;
    return manifest_load(&m, s->collector.subject, &ignored) && manifest_is_client(&m);
}

// Changes a phase for a subject whose own client puts the jobs: the client puts one job at a time,
// only during the load, and its transactions are not ours to hold open or roll back.
static void adapt_to_client(struct load_phase *phase)
{
    phase->rollback = phase->hold_share = 0;
    phase->rows_from = phase->rows_to = 1;
    phase->backlog = 0;
}

void subjects_adapt(struct scenario *s)
{
    needs_drop_expectations(s);
    if (!scenario_is_queue(s))
        return;
    // A queue numbers its jobs itself and decides how to hand them out, so these keys get defaults.
    s->load[0].ids_from = 1; // only the first phase can have another value
    s->collector.dequeue = DEQUEUE_CURSOR;
    // Only the mail schema has kinds of tokens, changes of them, hostile names and COPY, so they
    // are taken out of the load.
    bool own_client = has_own_client(s);
    for (size_t i = 0; i < s->load_count; i++) {
        struct load_phase *p = &s->load[i];
        if (own_client)
            adapt_to_client(p);
        p->recovery = p->ineligible = p->unsendable = 0;
        p->consume = p->suspend = p->reactivate = p->expire = p->delete = p->email = p->login = 0;
        p->names = NAMES_PLAIN;
        p->insert = INSERT_ROW;
    }
}

bool subjects_list(struct err *e)
{
    char **names;
    bool ok = manifest_names(&names, e);

    puts("\nSubjects (run --subject NAME):");
    printf("  %-22s %s\n", SUBJECT_MAILROOM, "the reference collector, or --collector: mail lines");
    for (size_t i = 0; ok && names[i]; i++) {
        struct manifest m FREED_BY(manifest_fini) = {0};
        ok = manifest_load(&m, names[i], e);
        if (ok)
            printf("  %-22s %s (%s)\n", m.name, m.summary,
                strcmp(m.why_not_installable, MANIFEST_NONE) == 0 ? m.version
                                                                  : "not installable here");
    }
    memory_free_texts(names);
    return ok;
}
