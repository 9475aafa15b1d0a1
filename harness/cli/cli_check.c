// mailproof check: judges stored runs and stories again, without a server. With --token it shows
// the life of one token.
#include "cli/cli.h"
#include "options/options.h"
#include "report/rejudge.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "report/gather.h"
#include "report/life.h"
#include "story/story.h"

// --- printing -----------------------------------------------------------------------

static void print_verdict(const struct scenario *s, const struct history_notes *notes,
    const struct result *r, const char *path)
{
    printf("%s: %s (%s)\n", s->name, verdict_name(r->verdict), path);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct finding *f = &r->findings[id];
        if (!r->broken[id])
            continue;
        printf("  %s: %llu, must be 0 (or at most `allow` in the scenario)\n", metrics[id].name,
            (unsigned long long)f->count);
        for (size_t i = 0; i < f->example_count; i++)
            printf("    %s\n", f->examples[i]);
    }
    for (size_t i = 0; i < s->expect_count; i++) {
        if (!r->holds[i])
            printf("  expected %s %s\n", s->expect[i].metric, s->expect[i].want);
    }
    for (size_t i = 0; i < r->reason_count; i++)
        printf("  because %s\n", r->reasons[i]);
    // The harness ended this run early, so the reason for that may explain everything above.
    if (notes->gave_up[0])
        printf("  because %s\n", notes->gave_up);
}

static void print_event(const struct ledger *l, int64_t at_ns, const char *what, void *unused)
{
    (void)unused;
    printf("  %9.3f s  %s\n", ledger_seconds(l, at_ns), what);
}

// Writes a picture of the token's life to the file of --html.
static bool write_life(
    const struct ledger *l, uint32_t token, const struct options *o, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64u << 20);

    // From here on a signal does not end the program at once, because that could leave half a file.
    interrupt_exit_at_once(0);
    return (life_html(l, token, &text) ||
               err_set(e, ERR_INTERNAL, "--html: the token's life is too long")) &&
           file_write("html", o->html, &text, e);
}

// Prints the life of the token of --token, draws it with --html, and returns the exit code.
static int print_token(const struct ledger *l, const struct options *o)
{
    char name[LEDGER_FULL_NAME_MAX], at_the_end[200];
    uint32_t token;
    struct err e;

    if (!rejudge_token(l, o->token, &token, &e))
        return cli_fail(&e);
    ledger_full_name(l, token, name);
    puts(name);
    life_each(l, token, print_event, NULL);
    life_end(l, token, at_the_end, sizeof at_the_end);
    printf("  at the end   %s\n", at_the_end);
    // The text comes first, so that only the picture is missing if its file cannot be written.
    if (!o->html)
        return EXIT_OK;
    if (!write_life(l, token, o, &e))
        return cli_fail(&e);
    printf("  drawn in     %s\n", o->html);
    return EXIT_OK;
}

// --- judging ------------------------------------------------------------------------

// The counts of all results in a folder.
struct counts {
    size_t verdicts[VERDICT_MISSED + 1];
    uint64_t tokens; // number of tokens in the histories that were judged
};

// Prints the verdict of a result, and returns its exit code. `counts`: the result is one of a
// folder's, so it is counted, and printed only if it did not pass; NULL: the user named it itself.
static int tell_verdict(const struct rejudge *s, const char *folder, struct counts *counts)
{
    enum verdict verdict = s->result.verdict;

    // A soak has thousands of segments, so only those that did not pass are printed.
    if (!counts || verdict != VERDICT_PASS)
        print_verdict(&s->scenario, &s->history.notes, &s->result, folder);
    if (counts) {
        counts->verdicts[verdict]++;
        counts->tokens += s->history.plan.token_count;
    }
    return verdict_exit_code(verdict);
}

// Judges one result folder, or shows the token of --token, and returns the exit code. A run without
// a complete history is inconclusive, and the reason is printed; this is no error of the command.
static int check_folder(const char *folder, const struct options *o, struct counts *counts)
{
    struct rejudge *s FREED_BY(memory_free) = memory_zeroed(1, sizeof *s);
    struct err e = {0};
    int code;

    bool ok = rejudge_scenario(s, folder, &e);
    // A run that was killed leaves a folder without a complete history.
    if (ok && !rejudge_history(s, folder, &e)) {
        code = verdict_exit_code(VERDICT_INCONCLUSIVE);
        printf("%s: inconclusive: %s\n", s->scenario.name, e.text);
        if (counts)
            counts->verdicts[VERDICT_INCONCLUSIVE]++;
    } else if (ok && o->token) {
        code = print_token(&s->history.ledger, o);
    } else if (ok) {
        rejudge_judge(s);
        code = tell_verdict(s, folder, counts);
    } else {
        code = cli_fail(&e);
    }
    rejudge_fini(s);
    return code;
}

static void print_counts(const char *dir, const struct gathered *g, const struct counts *counts)
{
    printf("%s: %zu of %zu results pass", dir, counts->verdicts[VERDICT_PASS], g->count);
    for (enum verdict v = VERDICT_VIOLATED; v <= VERDICT_MISSED; v++) {
        if (counts->verdicts[v] > 0)
            printf(", %zu %s", counts->verdicts[v], verdict_name(v));
    }
    printf("; they have %llu %s\n", (unsigned long long)counts->tokens,
        NOUN(counts->tokens, "token", "tokens"));
}

// Judges all results below a folder, such as the segments of a soak, the oldest first. Only one
// result at a time is in memory.
static int check_all(const char *dir, const struct options *o)
{
    struct counts counts = {0};
    struct gathered g FREED_BY(gather_fini) = {0};
    int worst = EXIT_OK;
    struct err e;

    bool ok = gather_results(&g, dir, &e) &&
              (g.count > 0 ||
                  err_set(&e, ERR_USAGE, "%.500s is not a result folder, and holds none", dir)) &&
              (!o->token || err_set(&e, ERR_USAGE,
                                "check: --token goes with one result, and %.500s "
                                "holds %zu",
                                dir, g.count));
    // gather_results has put the newest result first.
    for (size_t i = g.count; ok && i-- > 0;)
        worst = cli_worse(worst, check_folder(g.folders[i], o, &counts));
    if (ok)
        print_counts(dir, &g, &counts);
    return ok ? worst : cli_fail(&e);
}

static int check_result(const char *path, const struct options *o)
{
    return path_has(path, "scenario.yaml") ? check_folder(path, o, NULL) : check_all(path, o);
}

// Prints the story again, with all that it left to defaults.
static bool explain(const struct story *t, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64u << 20);

    bool ok = (story_write(&t->scenario, &t->history, NULL, true, &text) && buf_str(&text)) ||
              err_set(e, ERR_INTERNAL, "--explain: the story is too long");
    if (ok)
        fputs(text.data, stdout);
    return ok;
}

// Judges a story, and prints the claims of the story that do not come true. Returns the exit code
// of the verdict, as for a run. The claims do not change it.
static int judge_story(const struct story *t, const char *path)
{
    struct check_input input = check_input_of(&t->history);
    struct buf differs FREED_BY(buf_fini) = BUF_INIT(1u << 20);
    struct result r;

    check_ledger(&r, &t->history.ledger, &input);
    print_verdict(&t->scenario, &t->history.notes, &r, path);
    if (!story_holds(t, &r, &differs) && buf_str(&differs))
        fputs(differs.data, stdout);
    int code = verdict_exit_code(r.verdict);
    result_fini(&r);
    return code;
}

static int check_story(const char *path, const struct options *o)
{
    struct story *t FREED_BY(memory_free) = memory_zeroed(1, sizeof *t);
    struct err e = {0};
    int code;

    bool ok = story_read(t, path, &e);
    if (ok && o->token)
        code = print_token(&t->history.ledger, o);
    else if (ok && (!o->check.explain || explain(t, &e)))
        code = judge_story(t, path);
    else
        code = cli_fail(&e);
    story_fini(t);
    return code;
}

int cli_check(const struct options *o)
{
    int worst = EXIT_OK;
    struct err e;

    if (!*o->args || (o->html && (!o->token || o->args[1]))) {
        err_set(&e, ERR_USAGE,
            *o->args ? "check: --html draws one token: name one result, and --token"
                     : "check: name a result folder or a story");
        return cli_fail(&e);
    }
    interrupt_exit_at_once(EXIT_SIGNAL);
    // Each line is written at once, because a signal may end this process at any time.
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (char *const *folder = o->args; *folder; folder++)
        worst = cli_worse(
            worst, story_is_path(*folder) ? check_story(*folder, o) : check_result(*folder, o));
    return worst;
}
