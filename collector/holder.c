#include "holder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>

#define BOOT_LEN 40
#define SPACE_LEN 40

// The machine since its last start, and the namespace in which pids count.
static bool here(char boot[BOOT_LEN], char space[SPACE_LEN])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    ssize_t len = readlink("/proc/self/ns/pid", space, SPACE_LEN - 1);
    bool ok = f && len > 0 && fgets(boot, BOOT_LEN, f);

    if (f)
        fclose(f);
    if (!ok)
        return false;
    boot[strcspn(boot, "\n")] = '\0';
    space[len] = '\0';
    return true;
}

// When the process started, in ticks since the machine did; 0: there is none,
// or it is a zombie.
static unsigned long long started(long pid)
{
    char path[40];
    char text[512];
    unsigned long long ticks = 0;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t len = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[len] = '\0';
    // Field 2 is a name in parentheses that may hold anything; 3 is the state.
    char *at = strrchr(text, ')');
    if (!at || strlen(at) < 3 || at[2] == 'Z' || at[2] == 'X')
        return 0;
    at += 2;
    for (int field = 3; field < 22 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (at)
        ticks = strtoull(at, NULL, 10);
    return ticks;
}

void holder_self(char name[HOLDER_LEN])
{
    char boot[BOOT_LEN], space[SPACE_LEN];
    uint64_t number[2] = {(uint64_t)getpid(), 0};
    unsigned long long ticks = started(getpid());

    if (ticks > 0 && here(boot, space)) {
        snprintf(name, HOLDER_LEN, "%s/%s/%ld/%llu", boot, space, (long)getpid(), ticks);
        return;
    }
    RAND_bytes((unsigned char *)number, sizeof number);
    snprintf(name, HOLDER_LEN, "random/%016" PRIx64 "%016" PRIx64, number[0], number[1]);
}

bool holder_is_dead(const char *name)
{
    char boot[BOOT_LEN], space[SPACE_LEN], prefix[HOLDER_LEN];
    long pid;
    unsigned long long ticks;

    if (!here(boot, space))
        return false;
    int len = snprintf(prefix, sizeof prefix, "%s/%s/", boot, space);
    if (strncmp(name, prefix, (size_t)len) != 0 ||
        sscanf(name + len, "%ld/%llu", &pid, &ticks) != 2)
        return false;
    // Without a look at ourselves there is no telling that /proc shows others.
    return started(getpid()) > 0 && started(pid) != ticks;
}
