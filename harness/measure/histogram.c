#include "measure/histogram.h"

#include <math.h>

// Grows the array to hold `index`. It grows by whole octaves, so it is copied fewer than 54 times,
// and its length is one that HdrHistogram itself would choose.
static void reach_index(struct histogram *h, size_t index)
{
    if (index < h->count_len)
        return;
    size_t len = (index / HISTOGRAM_OCTAVE + 1) * HISTOGRAM_OCTAVE;
    if (len < (size_t)2 * HISTOGRAM_OCTAVE)
        len = (size_t)2 * HISTOGRAM_OCTAVE;
    int64_t *counts = memory_zeroed(len, sizeof *counts);
    if (h->counts)
        memcpy(counts, h->counts, h->count_len * sizeof *counts);
    free(h->counts);
    h->counts = counts;
    h->count_len = len;
}

void histogram_init(struct histogram *h, int64_t highest)
{
    *h = (struct histogram){0};
    reach_index(h, histogram_index(highest));
}

void histogram_fini(struct histogram *h)
{
    free(h->counts);
    *h = (struct histogram){0};
}

void histogram_clear(struct histogram *h)
{
    int64_t *counts = h->counts;
    size_t len = h->count_len;

    if (counts)
        memset(counts, 0, len * sizeof *counts);
    *h = (struct histogram){.counts = counts, .count_len = len};
}

static void widen_range(struct histogram *h, int64_t min, int64_t max)
{
    if (h->total == 0 || min < h->min)
        h->min = min;
    if (h->total == 0 || max > h->max)
        h->max = max;
}

void histogram_record(struct histogram *h, int64_t value)
{
    if (value < 0)
        value = 0;
    size_t index = histogram_index(value);
    reach_index(h, index);
    widen_range(h, value, value);
    h->counts[index]++;
    h->total++;
    h->sum += (double)value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->total == 0)
        return;
    size_t len = histogram_index(from->max) + 1;
    reach_index(into, len - 1);
    widen_range(into, from->min, from->max);
    for (size_t i = 0; i < len; i++)
        into->counts[i] += from->counts[i];
    into->total += from->total;
    into->sum += from->sum;
}

int64_t histogram_percentile(const struct histogram *h, double percentile)
{
    if (!(percentile > 0))
        return h->min;
    if (percentile >= 100)
        return h->max;
    // 99.9 is not a binary fraction. The nearest double may be a little larger, which may ask for
    // one value more than the percentile does. So the percentile is lowered by one step of a double
    // before it is used.
    double rank = ceil(nextafter(percentile, 0) * (double)h->total / 100);
    int64_t seen = 0;

    for (size_t i = 0; i < h->count_len; i++) {
        seen += h->counts[i];
        if (h->counts[i] > 0 && (double)seen >= rank) {
            int64_t value = histogram_highest_at(i);
            return value < h->max ? value : h->max;
        }
    }
    return h->max;
}

double histogram_mean(const struct histogram *h)
{
    return h->total > 0 ? h->sum / (double)h->total : 0;
}

double histogram_stddev(const struct histogram *h)
{
    double sum = 0, squares = 0;

    if (h->total == 0)
        return 0;
    for (size_t i = 0; i < h->count_len; i++)
        sum += (double)h->counts[i] * (double)histogram_middle_at(i);
    double mean = sum / (double)h->total;
    for (size_t i = 0; i < h->count_len; i++) {
        double off = (double)histogram_middle_at(i) - mean;
        squares += (double)h->counts[i] * off * off;
    }
    return sqrt(squares / (double)h->total);
}

// Returns by how many bits a value of this bucket was shifted to the right. The first two octaves,
// 0 … 2047, are exact.
static unsigned shift_at(size_t index)
{
    size_t octave = index / HISTOGRAM_OCTAVE;

    return octave > 0 ? (unsigned)octave - 1 : 0;
}

size_t histogram_index(int64_t value)
{
    uint64_t v = value > 0 ? (uint64_t)value : 0;
    // With the lowest eleven bits set, `bits` is at least 11, so small values are not shifted.
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | (2 * HISTOGRAM_OCTAVE - 1));
    unsigned shift = bits - 11; // eleven bits remain, because 2^11 = 2 * HISTOGRAM_OCTAVE

    return (size_t)shift * HISTOGRAM_OCTAVE + (size_t)(v >> shift);
}

int64_t histogram_lowest_at(size_t index)
{
    unsigned shift = shift_at(index);

    return (int64_t)(index - (size_t)shift * HISTOGRAM_OCTAVE) << shift;
}

int64_t histogram_highest_at(size_t index)
{
    return histogram_lowest_at(index) + ((INT64_C(1) << shift_at(index)) - 1);
}

int64_t histogram_middle_at(size_t index)
{
    return histogram_lowest_at(index) + ((INT64_C(1) << shift_at(index)) >> 1);
}
