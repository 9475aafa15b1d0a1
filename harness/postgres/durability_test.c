#include "base/unit.h"
#include "postgres/durability.h"

// The mounts of a container that runc made: a volume on a disk, the rest in an overlay.
static const char inside[] =
    "617 529 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/u,volatile\n"
    "618 617 0:55 / /proc rw,nosuid - proc proc rw\n"
    "640 617 0:58 / /dev/shm rw,nosuid - tmpfs shm rw,size=64000k\n"
    "641 617 8:1 /volumes/x/_data /var/lib/postgresql/data rw,relatime master:1 - ext4 /dev/sda1 "
    "rw\n"
    "642 617 0:60 / /var/lib/mem rw - tmpfs tmpfs rw\n";

struct found {
    char filesystem[32];
    bool is_volatile;
};

static struct found find(const char *text, const char *key)
{
    struct found found;
    char *copy = strdup(text);

    assert_non_null(copy);
    FILE *mounts = fmemopen(copy, strlen(copy), "r");
    assert_non_null(mounts);
    durability_find_mount(
        mounts, key, found.filesystem, sizeof found.filesystem, &found.is_volatile);
    fclose(mounts);
    free(copy);
    return found;
}

static void a_mount_is_found_by_its_place_or_its_device(void **state)
{
    static const char *const keys[] = {"/var/lib/postgresql/data", "8:1"};

    for (size_t i = 0; i < 2; i++) {
        struct found found = find(inside, keys[i]);
        assert_string_equal(found.filesystem, "ext4");
        assert_false(found.is_volatile);
    }
    assert_string_equal(find(inside, "/var/lib/mem").filesystem, "tmpfs");
    assert_string_equal(find(inside, "/var/lib").filesystem, "unknown");
    assert_string_equal(find(inside, "8:16").filesystem, "unknown");
}

static void a_mount_over_another_counts(void **state)
{
    const char text[] = "1 0 8:1 / /data rw - ext4 /dev/sda1 rw\n"
                        "2 0 0:9 / /data rw - tmpfs tmpfs rw\n";

    assert_string_equal(find(text, "/data").filesystem, "tmpfs");
}

// An overlay of many layers has a line of many kilobytes.
static void a_volatile_overlay_is_found_behind_many_layers(void **state)
{
    const size_t layers = 500;
    char *text = malloc(layers * 40 + 200);
    size_t len;

    assert_non_null(text);
    assert_true(find(inside, "/").is_volatile);
    len = (size_t)sprintf(text, "1 0 0:9 / / rw - overlay overlay rw,lowerdir=/l");
    for (size_t i = 0; i < layers; i++)
        len += (size_t)sprintf(text + len, ":/var/lib/storage/overlay/l/%zu", i);
    sprintf(text + len, ",volatile\n");
    assert_true(find(text, "/").is_volatile);
    free(text);
}

static void a_layer_may_be_called_volatile(void **state)
{
    assert_false(
        find("1 0 0:9 / / rw - overlay volatile rw,lowerdir=/volatile,upperdir=/u:volatile,"
             "workdir=volatile\n",
            "/")
            .is_volatile);
    assert_true(find("1 0 0:9 / / rw - overlay overlay rw,volatile,index=on", "/").is_volatile);
    assert_false(find("1 0 0:9 / / rw - overlay overlay", "/").is_volatile);
}

static void dd_tells_what_a_flush_costs(void **state)
{
    int64_t ns = 0;

    assert_true(durability_read_dd("64+0 records in\n64+0 records out\n"
                                   "524288 bytes (524 kB, 512 KiB) copied, 0.064 s, 8.2 MB/s",
        64, &ns));
    assert_int_equal(ns, 1000000);
    assert_true(durability_read_dd("524288 bytes (524 kB) copied, 6.4e-05 s, 8.2 GB/s", 64, &ns));
    assert_int_equal(ns, 1000);
    assert_false(durability_read_dd("dd: unrecognized operand 'oflag=dsync'", 64, &ns));
    assert_false(durability_read_dd("", 64, &ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mount_is_found_by_its_place_or_its_device),
        cmocka_unit_test(a_mount_over_another_counts),
        cmocka_unit_test(a_volatile_overlay_is_found_behind_many_layers),
        cmocka_unit_test(a_layer_may_be_called_volatile),
        cmocka_unit_test(dd_tells_what_a_flush_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
