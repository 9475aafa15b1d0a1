// A search whose draws are dealt out to shards finds what one machine finds. The runs are made up.
#include "base/unit.h"
#include "explore/search_page.h"
#include "explore/search_record.h"
#include "os/workdir.h"
#include "plan/rng.h"
#include "shards/merge.h"

static const struct draw_limits everything = {
    .dequeues = DRAW_DEQUEUES | 1u << DEQUEUE_LEASED, .ours = true};

static size_t verb(const char *name)
{
    return (size_t)(verb_find(name) - verbs);
}

#define SEARCHED 304

// A collector that loses tokens with `reset`, and doubles them with `kill-collector`, unless
// `reset` is there, too. What a run shows depends on the draw's number alone.
static struct tried outcome_of(uint64_t n)
{
    struct rng rng;
    struct tried t = {.number = n, .judged = true, .mode = (enum mode)(n % 3 * 2), .took_s = 2};
    struct met reset = {verb("reset"), 1, 1, EXCHANGE_IDLE},
               kill = {verb("kill-collector"), 1, 2, EXCHANGE_ASKED};

    rng_init(&rng, 77, n);
    if (rng_below(&rng, 4) == 0)
        t.met[t.met_count++] = reset;
    if (rng_below(&rng, 3) == 0)
        t.met[t.met_count++] = kill;
    for (size_t i = 0; i < t.met_count; i++)
        t.verbs[t.met[i].verb] = true;
    t.broken[METRIC_LOST] = t.verbs[reset.verb];
    t.broken[METRIC_DUPLICATED] = t.verbs[kill.verb] && !t.verbs[reset.verb];
    t.verdict = tried_broke(&t) ? VERDICT_VIOLATED
                : n % 29 == 0   ? VERDICT_INCONCLUSIVE
                                : VERDICT_PASS;
    if (t.verdict == VERDICT_INCONCLUSIVE)
        snprintf(t.why, sizeof t.why, "reason %d", (int)(n % 17));
    return t;
}

// Returns what explore finds when it investigates a draw: the draw is run twice more and shrunk.
// One draw in five does not fail again.
static struct failure investigate(const struct tried *t)
{
    struct failure f = {.draw = t->number,
        .asked = 2,
        .confirmed = t->number % 5 ? 2 : 0,
        .mode = t->mode,
        .found_s = 1};
    size_t needed = t->broken[METRIC_LOST] ? verb("reset") : verb("kill-collector");

    memcpy(f.broken, t->broken, sizeof f.broken);
    f.verbs[needed] = true;
    snprintf(f.name, sizeof f.name, "%s-%s-%d", t->broken[METRIC_LOST] ? "lost" : "duplicated",
        verbs[needed].name, t->mode);
    snprintf(f.example, sizeof f.example, "draw %d", (int)t->number);
    return f;
}

// Makes the draws of a shard: 15 to 0, then 31 to 16, and so on, because the coverage may order
// draws so.
static void search_shard(const char *dir, struct shard shard)
{
    const struct record_head head = {
        .command = "explore", .about = "seed 5", .program = "1", .shard = shard};
    char folder[PATH_MAX];
    struct journal j = {0};
    struct err e;

    snprintf(folder, sizeof folder, "%s/%d", dir, shard.number);
    assert_true(journal_open(&j, folder, &head, &e));
    for (uint64_t i = 0; i < SEARCHED; i++) {
        uint64_t n = i ^ 15;
        struct tried t = outcome_of(n);
        if (!record_wants(&j.record, n))
            continue;
        assert_true(journal_add(&j, &t, &e));
        if (!tried_broke(&t) || journal_explains(&j, &t))
            continue;
        struct failure f = investigate(&t);
        assert_true(journal_found(&j, &f, &e));
    }
    assert_true(journal_end(&j, 100.0 / shard.of, &e) && record_finish(&j.record, &e));
    journal_close(&j);
}

// Returns the page of a search that was divided into `of` shards. `without`: the number of a shard
// that is missing; 0: none.
static char *page_of(int of, int without)
{
    char dir[] = "/tmp/mp-shards.XXXXXX", *names[] = {dir, NULL};
    struct record_head head = {.command = "explore", .about = "seed 5", .program = "1"};
    struct journal j = {0};
    struct merges m;
    struct buf html;
    struct err e;

    assert_non_null(mkdtemp(dir));
    for (int i = of; i >= 1; i--) {
        if (i != without)
            search_shard(dir, (struct shard){i, of});
    }
    assert_true(merge_records(&m, names, &e));
    head.merged = &m.items[0];
    assert_true(journal_open(&j, NULL, &head, &e));
    buf_init(&html, 1u << 20);
    assert_true(page_html(&(struct page){&j, 5, "mine", &everything, "results/x", false}, &html));
    assert_true(page_text(&(struct page){&j, 5, "mine", &everything, "results/x", false}, &html));
    char *page = strdup(buf_str(&html));
    buf_fini(&html);
    journal_close(&j);
    merges_fini(&m);
    workdir_remove_tree(dir);
    return page;
}

static void shards_find_what_one_machine_finds(void **state)
{
    static const int numbers[] = {2, 3, 16};
    char *whole = page_of(1, 0);

    assert_non_null(strstr(whole, "lost-reset-0: lost"));
    assert_non_null(strstr(whole, "    repeat    mailproof run results/x/"));
    assert_non_null(strstr(whole, "duplicated-kill-collector-4"));
    assert_null(strstr(whole, "ncomplete"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *page = page_of(numbers[i], 0);
        assert_string_equal(page, whole);
        free(page);
    }
    free(whole);
    char *part = page_of(3, 2);
    assert_non_null(strstr(part, "Incomplete: shard 2 of 3 is missing."));
    free(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_find_what_one_machine_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
