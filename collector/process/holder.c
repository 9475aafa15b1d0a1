#include "process/holder.h"

#include <signal.h>

#include "process/random.h"

#define BOOT_LEN 40
#define SPACE_LEN 40

// Reads the id of the machine's last start, and the id of our pid namespace. False: /proc does not
// show them.
static bool read_ids(char boot[BOOT_LEN], char space[SPACE_LEN])
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

// Sets *ticks to the time when the process started, in clock ticks since the machine's start; 0 for
// a zombie, which has ended. False: /proc does not show the process.
static bool read_start(long pid, unsigned long long *ticks)
{
    char path[40];
    char text[512];

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t len = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[len] = '\0';
    // Field 2 is a name in parentheses that may hold anything; field 3 is the state, and field 22
    // the time of the start.
    char *at = strrchr(text, ')');
    if (!at || strlen(at) < 3)
        return false;
    at += 2;
    *ticks = 0;
    if (*at == 'Z' || *at == 'X')
        return true;
    for (int field = 3; field < 22 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (at)
        *ticks = strtoull(at, NULL, 10);
    return *ticks > 0;
}

bool holder_self(char name[HOLDER_LEN], struct err *e)
{
    char boot[BOOT_LEN], space[SPACE_LEN];
    uint64_t number[2];
    unsigned long long ticks;

    if (read_start(getpid(), &ticks) && read_ids(boot, space)) {
        snprintf(name, HOLDER_LEN, "%s/%s/%ld/%llu", boot, space, (long)getpid(), ticks);
        return true;
    }
    // Without these facts the name still belongs to us alone, but nobody can find us dead by it.
    if (!random_fill(number, sizeof number, e))
        return false;
    snprintf(name, HOLDER_LEN, "random/%016" PRIx64 "%016" PRIx64, number[0], number[1]);
    return true;
}

bool holder_is_dead(const char *name)
{
    char boot[BOOT_LEN], space[SPACE_LEN], prefix[HOLDER_LEN];
    long pid;
    unsigned long long ticks, seen;

    if (!read_ids(boot, space))
        return false;
    int len = snprintf(prefix, sizeof prefix, "%s/%s/", boot, space);
    if (strncmp(name, prefix, (size_t)len) != 0 ||
        sscanf(name + len, "%ld/%llu", &pid, &ticks) != 2)
        return false;
    // If another process has got the pid, it started at another time. With hidepid /proc does not
    // show other users' processes, but kill(2) finds them.
    return read_start(pid, &seen) ? seen != ticks : kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}
