#include "scenario/trace.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include "os/paths.h"
#include "scenario/units.h"

// The longest line in bytes, with its line break and all columns that stand after the time.
#define LINE_MAX_LEN 4095

#define TIMES_MAX 20000000 // as many recorded times as a plan can hold (PLAN_TOKENS_MAX)

// Opens a trace's file, whose name is relative to the scenario's folder.
static bool open_file(FILE **file, const char *name, const char *scenario_path, struct err *e)
{
    char path[PATH_MAX];

    if (!path_beside(path, scenario_path, name))
        return err_set(e, ERR_USAGE, "the path is too long");
    // Only a plain file will do: a folder would read as empty, a pipe could block, a device could
    // be endless.
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE, "%s: this is not a regular file", path);
    *file = fopen(path, "re");
    return *file || err_sys(e, ERR_USAGE, "%s", path);
}

// Reads the line with this number, and adds its time to the phase.
static bool read_trace_line(struct load_phase *phase, char *text, size_t line, struct err *e)
{
    int64_t last_ns = phase->trace_count ? phase->trace_ns[phase->trace_count - 1] : 0;
    int64_t at_ns;
    char time[32];

    if (strlen(text) > LINE_MAX_LEN)
        return err_set(e, ERR_USAGE, "line %zu is longer than %d bytes", line, LINE_MAX_LEN);
    text[strcspn(text, ",\r\n")] = '\0';
    if (text[0] == '\0' || text[0] == '#')
        return true;
    // The number is read as a duration: "1.25" becomes "1.25s". A time with a unit of its own is
    // refused, because "12m" would become "12ms".
    snprintf(time, sizeof time, "%.20ss", text);
    if (text[strspn(text, "0123456789.")] || !units_duration(time, &at_ns, e))
        return err_set(e, ERR_USAGE, "line %zu: '%.40s' is not a time in seconds", line, text);
    if (at_ns < last_ns)
        return err_set(e, ERR_USAGE, "line %zu: '%.40s' lies before the time above it", line, text);
    if (at_ns >= phase->for_ns)
        return err_set(e, ERR_USAGE, "line %zu: '%.40s' lies after the phase's end", line, text);
    if (phase->trace_count == TIMES_MAX)
        return err_set(e, ERR_USAGE, "the trace is too long");
    memory_grow(&phase->trace_ns, phase->trace_count, 1, sizeof at_ns);
    phase->trace_ns[phase->trace_count++] = at_ns;
    return true;
}

bool trace_read(struct load_phase *phase, const char *scenario_path, struct err *e)
{
    FILE *file = NULL;
    char text[LINE_MAX_LEN + 2]; // 2: one byte more, which shows a longer line, and the NUL
    size_t line = 0;

    if (!open_file(&file, phase->file, scenario_path, e))
        return false;
    bool ok = true;
    while (ok && fgets(text, sizeof text, file))
        ok = read_trace_line(phase, text, ++line, e);
    if (ok && ferror(file))
        ok = err_sys(e, ERR_USAGE, "%s", phase->file);
    fclose(file);
    if (!ok)
        return false;
    // From here on the phase names the copy in the result folder, so that the run can be repeated
    // even when the original has changed.
    free(phase->file);
    phase->file = memory_format("arrivals-%.64s.csv", phase->name);
    return true;
}

bool trace_is_name(const char *file)
{
    return fnmatch("arrivals-*.csv", file, 0) == 0;
}

bool trace_write(const struct load_phase *phase, struct buf *out)
{
    for (size_t i = 0; i < phase->trace_count; i++)
        buf_printf(out, "%" PRId64 ".%09" PRId64 "\n", phase->trace_ns[i] / NS_PER_S,
            phase->trace_ns[i] % NS_PER_S);
    return !out->failed;
}
