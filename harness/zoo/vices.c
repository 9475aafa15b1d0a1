#include "vices.h"

#include "base/clock.h"
#include "output.h"

void vices_init(struct vices *v, enum defect defect)
{
    *v = (struct vices){.defect = defect, .repeats_ns = CLOCK_NEVER};
    buf_init(&v->last, 1u << 20);
}

void vices_fini(struct vices *v)
{
    buf_fini(&v->last);
}

void vices_line(struct vices *v, const struct buf *line)
{
    const int64_t silence_ns = 2 * NS_PER_S;

    if (v->defect != DEFECT_REPEATS_LATER)
        return;
    buf_clear(&v->last);
    if (buf_append(&v->last, line->data, line->len))
        v->repeats_ns = clock_now_ns() + silence_ns;
}

bool vices_idle(struct vices *v, struct session *s, int64_t *until_ns, struct err *e)
{
    int ignored = 0;

    if (clock_now_ns() >= v->repeats_ns) {
        v->repeats_ns = CLOCK_NEVER;
        if (!output_write(&v->last, s, &ignored, v->defect, e))
            return false;
    }
    *until_ns = clock_min(*until_ns, v->repeats_ns);
    return true;
}
