#include "report/files/environment.h"

#include <jansson.h>
#include <math.h>
#include <sys/utsname.h>

#include "report/files/parse_json.h"

void environment_take(
    struct environment *v, const struct durability_proof *proof, int postgres_version)
{
    struct utsname system;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    uname(&system);
    *v = (struct environment){.mailproof = MAILPROOF_VERSION,
        .commit = MAILPROOF_COMMIT,
        .postgres_version = postgres_version,
        .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .memory_mb = (int)(pages / 1024 * page / 1024),
        .proof = *proof};
    snprintf(v->kernel, sizeof v->kernel, "%s", system.release);
    snprintf(v->machine, sizeof v->machine, "%s", system.machine);
}

json_t *environment_json(const struct environment *v)
{
    const struct durability_proof *p = &v->proof;
    json_t *durability = json_pack("{s:b, s:s, s:s, s:s, s:o}", "durable", p->durable, "verdict",
        p->verdict, "filesystem", p->filesystem, "settings", p->settings, "fsync_us",
        json_real((double)p->fsync_ns / 1e3));

    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:o}", "mailproof", v->mailproof,
        "commit", v->commit, "postgres_version", v->postgres_version, "kernel", v->kernel,
        "machine", v->machine, "cpus", v->cpus, "memory_mb", v->memory_mb, "durability",
        durability);
}

static void read_proof(struct durability_proof *p, const json_t *from)
{
    p->durable = json_is_true(json_object_get(from, "durable"));
    p->fsync_ns = llround(parse_number(from, "fsync_us") * 1e3);
    parse_text(from, "verdict", p->verdict, sizeof p->verdict);
    parse_text(from, "filesystem", p->filesystem, sizeof p->filesystem);
    parse_text(from, "settings", p->settings, sizeof p->settings);
}

bool environment_parse(struct environment *v, const json_t *root)
{
    *v = (struct environment){0};
    const json_t *durability = json_object_get(root, "durability");
    bool whole = json_is_object(durability) && json_is_string(json_object_get(root, "mailproof"));

    parse_text(root, "mailproof", v->mailproof, sizeof v->mailproof);
    parse_text(root, "commit", v->commit, sizeof v->commit);
    parse_text(root, "kernel", v->kernel, sizeof v->kernel);
    parse_text(root, "machine", v->machine, sizeof v->machine);
    v->postgres_version = (int)parse_integer(root, "postgres_version");
    v->cpus = (int)parse_integer(root, "cpus");
    v->memory_mb = (int)parse_integer(root, "memory_mb");
    read_proof(&v->proof, durability);
    return whole;
}

bool environment_read(struct environment *v, const char *folder, struct err *e)
{
    json_t *root FREED_BY(json_decrefp) = parse_file(folder, "env.json", e);

    return root && (environment_parse(v, root) ||
                       err_set(e, ERR_USAGE, "%.500s/env.json is not one of mailproof's", folder));
}
