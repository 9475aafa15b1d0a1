// Tests that each item belongs to one shard, that a record goes on where it ended, and that the
// joined records of shards are the same in whatever order their folders are named.
#include "base/unit.h"
#include "os/workdir.h"
#include "shards/merge.h"

#define ITEMS 40
#define DIR_TEMPLATE "/tmp/mp-shards.XXXXXX"

static void a_shard_is_read_or_refused(void **state)
{
    static const char *const wrong[] = {"", "3", "0/3", "4/3", "3/", "/3", "3/3x", "-1/3", "1/0",
        "1/1001", "a/b", "1/2/3", "1.5/3"};
    struct shard s;
    struct err e;

    assert_true(shard_parse(&s, "3/16", &e) && s.number == 3 && s.of == 16);
    assert_true(shard_parse(&s, "1/1", &e) && shard_parse(&s, "1000/1000", &e));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(shard_parse(&s, wrong[i], &e));
        assert_int_equal(e.kind, ERR_USAGE);
    }
}

static void each_item_belongs_to_one_shard(void **state)
{
    for (int of = 1; of <= 16; of++) {
        for (uint64_t n = 0; n < 100; n++) {
            int owners = 0;
            for (int i = 1; i <= of; i++)
                owners += shard_has(&(struct shard){i, of}, n);
            assert_int_equal(owners, 1);
        }
    }
    assert_true(shard_has(&(struct shard){0}, 7));
}

static struct record_head head_of(struct shard shard)
{
    static const char *const asked[] = {"--seed=7", "steady", NULL};

    return (struct record_head){
        .command = "explore", .about = "seed 7", .asked = asked, .program = "1", .shard = shard};
}

static void open_in(struct record *r, const char *folder, const struct record_head *head)
{
    struct err e;

    if (!record_open(r, folder, head, &e))
        fail_msg("%s", e.text);
}

// Writes the record of a shard that has done its part, or the first items of it.
static void write_shard(const char *dir, struct shard shard, uint64_t items, bool finished)
{
    const struct record_head head = head_of(shard);
    char folder[PATH_MAX];
    struct record r;
    struct err e;

    snprintf(folder, sizeof folder, "%s/machine-%d/below", dir, shard.number);
    open_in(&r, folder, &head);
    // Items are done in any order.
    for (uint64_t i = items; i-- > 0;) {
        if (record_wants(&r, i))
            assert_true(record_add(&r,
                json_pack("{s:I, s:I}", "n", (json_int_t)i, "square", (json_int_t)(i * i)), &e));
    }
    assert_true(!finished || record_finish(&r, &e));
    record_close(&r);
}

// Returns all lines in order, as a text without the folders.
static char *lines_of(const struct merged *m)
{
    struct record_head head = head_of((struct shard){0});
    struct record r;

    head.merged = m;
    open_in(&r, NULL, &head);
    assert_false(record_wants(&r, 3));
    json_t *sorted = record_sorted(&r), *line;
    size_t i;
    json_array_foreach(sorted, i, line)
    {
        assert_non_null(strstr(record_folder(&r, line), "/below"));
        json_object_del(line, "in");
    }
    char *text = json_dumps(sorted, JSON_COMPACT);
    json_decref(sorted);
    record_close(&r);
    return text;
}

static char *merge_of(int of)
{
    char dir[] = DIR_TEMPLATE, *names[17] = {0};
    struct merges m;
    struct err e;

    assert_non_null(mkdtemp(dir));
    for (int i = 1; i <= of; i++) {
        write_shard(dir, (struct shard){i, of}, ITEMS, true);
        // The last comes first. The folders are named one by one, as after downloads.
        assert_true(asprintf(&names[of - i], "%s/machine-%d", dir, i) > 0);
    }
    if (!merge_records(&m, names, &e))
        fail_msg("%s", e.text);
    assert_int_equal(m.count, 1);
    assert_string_equal(m.items[0].gaps, "");
    char *text = lines_of(&m.items[0]);
    merges_fini(&m);
    for (int i = 0; i < of; i++)
        free(names[i]);
    workdir_remove_tree(dir);
    return text;
}

static void any_number_of_shards_gives_the_same(void **state)
{
    static const int numbers[] = {2, 3, 16};
    char *whole = merge_of(1);

    assert_non_null(strstr(whole, "{\"n\":39,\"square\":1521}"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *text = merge_of(numbers[i]);
        assert_string_equal(text, whole);
        free(text);
    }
    free(whole);
}

static void other_work_is_refused(void **state)
{
    char dir[] = DIR_TEMPLATE, *names[] = {dir, NULL};
    struct record_head head = head_of((struct shard){0});
    struct merges m;
    struct record r;
    struct err e;

    assert_non_null(mkdtemp(dir));
    write_shard(dir, (struct shard){1, 1}, ITEMS, true);
    assert_true(merge_records(&m, names, &e));
    head.merged = &m.items[0];
    head.about = "seed 7, of a scenario that was changed";
    assert_false(record_open(&r, NULL, &head, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    record_close(&r);
    merges_fini(&m);
    workdir_remove_tree(dir);
}

// Paths in the lines may be relative to the folder above the record's, so its text must end with
// its name however a person, or the shell's completion, wrote it.
static void a_folder_gets_its_name(void **state)
{
    static const char *const ends[] = {"", "/", "//", "/."};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char dir[] = DIR_TEMPLATE, folder[PATH_MAX], *names[] = {folder, NULL};
        struct merges m;
        struct err e;

        assert_non_null(mkdtemp(dir));
        write_shard(dir, (struct shard){1, 1}, ITEMS, true);
        snprintf(folder, sizeof folder, "%s/machine-1/below%s", dir, ends[i]);
        assert_true(merge_records(&m, names, &e));
        const char *in =
            json_string_value(json_object_get(json_array_get(m.items[0].lines, 0), "in"));
        assert_string_equal(strrchr(in, '/'), "/below");
        merges_fini(&m);
        workdir_remove_tree(dir);
    }
}

static void missing_shards_are_named(void **state)
{
    char dir[] = DIR_TEMPLATE, *names[] = {dir, dir, NULL}; // naming a folder twice is harmless
    struct merges m;
    struct err e;

    assert_non_null(mkdtemp(dir));
    write_shard(dir, (struct shard){2, 5}, ITEMS, true);
    write_shard(dir, (struct shard){4, 5}, 10, false);
    write_shard(dir, (struct shard){5, 5}, ITEMS, true);
    assert_true(merge_records(&m, names, &e));
    assert_string_equal(
        m.items[0].gaps, "shards 1 and 3 of 5 are missing; shard 4 of 5 did not finish");
    merges_fini(&m);
    workdir_remove_tree(dir);
}

static void assert_refused(const char *dir, const char *why)
{
    char *names[] = {(char *)dir, NULL};
    struct merges m;
    struct err e;

    assert_false(merge_records(&m, names, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    if (!strstr(e.text, why))
        fail_msg("'%s' does not tell '%s'", e.text, why);
    merges_fini(&m);
}

static void shards_that_do_not_fit_are_refused(void **state)
{
    char dir[] = DIR_TEMPLATE, from[PATH_MAX], to[PATH_MAX];

    assert_non_null(mkdtemp(dir));
    assert_refused(dir, "no shard is there");
    write_shard(dir, (struct shard){2, 5}, ITEMS, true);
    snprintf(from, sizeof from, "%s/machine-2", dir);
    snprintf(to, sizeof to, "%s/machine-2-again", dir);
    assert_int_equal(rename(from, to), 0);
    write_shard(dir, (struct shard){2, 5}, ITEMS, true);
    assert_refused(dir, "are both shard 2 of 5");
    assert_true(workdir_remove_tree(to));
    write_shard(dir, (struct shard){1, 4}, ITEMS, true);
    assert_refused(dir, "different numbers of shards");
    workdir_remove_tree(dir);
}

// A process that is killed while it writes leaves half a line. The next line must not be appended
// to it.
static void a_record_goes_on(void **state)
{
    char dir[] = DIR_TEMPLATE;
    struct record_head head = head_of((struct shard){0});
    struct record r;
    struct err e;

    assert_non_null(mkdtemp(dir));
    open_in(&r, dir, &head);
    assert_true(record_add(&r, json_pack("{s:i}", "n", 1), &e));
    fputs("{\"n\": 2, \"squ", r.file);
    record_close(&r);
    open_in(&r, dir, &head);
    assert_int_equal(json_array_size(r.lines), 1);
    assert_true(record_add(&r, json_pack("{s:i}", "n", 3), &e));
    record_close(&r);
    open_in(&r, dir, &head);
    assert_int_equal(json_array_size(r.lines), 2);
    record_close(&r);
    head.about = "seed 8";
    assert_false(record_open(&r, dir, &head, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "seed 7"));
    record_close(&r);
    workdir_remove_tree(dir);
}

static void what_was_forgotten_is_in_the_file(void **state)
{
    char dir[] = DIR_TEMPLATE;
    struct record_head head = head_of((struct shard){0});
    struct record r;
    struct err e;

    assert_non_null(mkdtemp(dir));
    open_in(&r, dir, &head);
    record_forget(&r);
    assert_false(r.forgot);
    for (int n = 0; n < 3; n++) {
        record_forget(&r);
        assert_true(record_add(&r, json_pack("{s:i}", "n", n), &e));
        assert_int_equal(json_array_size(r.lines), 1);
    }
    assert_true(r.forgot);
    record_close(&r);
    open_in(&r, dir, &head);
    assert_int_equal(json_array_size(r.lines), 3);
    record_close(&r);
    workdir_remove_tree(dir);
}

static void what_is_no_record_is_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {{"{\"record\": 1}\nnonsense\n", "line 2"}, {"[]\n", "line 1"}, {"", "empty"},
        {"{\"record\": 2}\n", "does not begin a record"},
        {"{\"record\": 1, \"shard\": 7, \"of\": 3}\n", "which cannot be"}};
    char path[100];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char dir[] = DIR_TEMPLATE;
        assert_non_null(mkdtemp(dir));
        snprintf(path, sizeof path, "%s/%s", dir, RECORD_NAME);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(wrong[i].text, file);
        fclose(file);
        assert_refused(dir, wrong[i].why);
        workdir_remove_tree(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_is_read_or_refused),
        cmocka_unit_test(each_item_belongs_to_one_shard),
        cmocka_unit_test(any_number_of_shards_gives_the_same),
        cmocka_unit_test(other_work_is_refused),
        cmocka_unit_test(a_folder_gets_its_name),
        cmocka_unit_test(missing_shards_are_named),
        cmocka_unit_test(shards_that_do_not_fit_are_refused),
        cmocka_unit_test(a_record_goes_on),
        cmocka_unit_test(what_was_forgotten_is_in_the_file),
        cmocka_unit_test(what_is_no_record_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
