#!/usr/bin/env bash
# trace.otlp.json, read by OpenTelemetry's own messages: they know every key, and encoding and
# decoding give back what was written.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

readers=$SOURCE_DIR/build/readers/node_modules
[ -d "$readers/@opentelemetry/otlp-transformer" ] && command -v node >/dev/null || {
    echo "skipped: @opentelemetry/otlp-transformer is not installed; ci/install-readers does that"
    exit 77
}
expect_exit 0 "$mailproof" run --out results backend-kill-storm --set slack=30s --set drain=30s --set load.0.for=2s \
    --set 'faults=[{at: 1s, do: terminate-backend, target: collector}]'
folder=results/backend-kill-storm/latest
expect_exit 0 "$mailproof" report --trace "$folder"

cat >read.js <<'NODE'
const assert = require('assert');
const fs = require('fs');
const root = require(process.argv[2] + '/@opentelemetry/otlp-transformer/build/src/generated/root.js');
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const written = JSON.parse(fs.readFileSync(process.argv[3]));
const spans = written.resourceSpans[0].scopeSpans[0].spans;
const ids = {traceId: 16, spanId: 8, parentSpanId: 8};

// OTLP's JSON has ids in hexadecimal digits, protobuf's in base64.
for (const span of spans)
    for (const [id, bytes] of Object.entries(ids))
        if (id in span) {
            assert.match(span[id], new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
            assert.doesNotMatch(span[id], /^0*$/);
            span[id] = Buffer.from(span[id], 'hex').toString('base64');
        }

const bytes = Request.encode(Request.fromObject(written)).finish();
const read = Request.toObject(Request.decode(bytes), {bytes: String, longs: String, enums: Number});
assert.deepStrictEqual(read, written);
assert(spans.some(span => span.parentSpanId) && spans.length > 100);
assert(new Set(spans.map(span => span.name)).has('terminate-backend'));
console.log(`${spans.length} spans, ${bytes.length} bytes`);
NODE
node read.js "$readers" "$folder/trace.otlp.json"
sed 's/"spanId"/"spanID"/' "$folder/trace.otlp.json" >broken.json
! node read.js "$readers" broken.json 2>/dev/null || fail "an unknown key is not noticed"
echo "OpenTelemetry can read it"
