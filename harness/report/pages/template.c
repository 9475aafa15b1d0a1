#include "report/pages/template.h"

#include "page.h"

static bool is_mark(const char *mark, size_t len, const char *name)
{
    return strlen(name) == len && strncmp(mark, name, len) == 0;
}

int template_next(struct buf *out, const char **rest, const char *const *names)
{
    const char *begin;

    while ((begin = strstr(*rest, "{{"))) {
        const char *mark = begin + 2, *end = strstr(mark, "}}");
        int place = 0;
        assert(end);
        buf_append(out, *rest, (size_t)(begin - *rest));
        *rest = end + 2;
        if (is_mark(mark, (size_t)(end - mark), "style")) {
            buf_append_str(out, page_style);
            continue;
        }
        while (names[place] && !is_mark(mark, (size_t)(end - mark), names[place]))
            place++;
        // The templates are a part of the program, so an unknown mark is a mistake in the program.
        assert(names[place]);
        return place;
    }
    buf_append_str(out, *rest);
    return TEMPLATE_END;
}
