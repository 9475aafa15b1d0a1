#!/usr/bin/env bash
# trace.json, read by Perfetto's own trace processor: it drops nothing, and finds each token with
# its stages, each fault and each collector.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

reader=$SOURCE_DIR/build/readers/perfetto
if ! [ -f "$reader/trace_processor.wasm" ] || ! command -v node >/dev/null; then
    echo "skipped: Perfetto's trace processor is not installed; ci/install-readers does that"
    exit 77
fi
expect_exit 0 run backend-kill-storm --set load.0.for=2s \
    --set 'faults=[{at: 1s, do: terminate-backend, target: collector}]'
folder=results/backend-kill-storm/latest
expect_exit 0 "$mailproof" report --trace "$folder"

cat >read.mjs <<'NODE'
import assert from 'assert';
import {readFileSync} from 'fs';
import {runInThisContext} from 'vm';

const [reader, trace, resultFile] = process.argv.slice(2);
const {EngineBase} = await import(`${reader}/engine.mjs`);

// The trace processor expects the globals of a browser's worker. It also loads a small module to
// find out whether memories may have 64 bits. That must fail: the package has only the other
// build.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = {href: `file://${reader}/`};
globalThis.XMLHttpRequest = class {
    open(method, name) { this.name = name; }
    send() { this.response = readFileSync(`${reader}/${this.name}`); }
};
const Module = WebAssembly.Module;
WebAssembly.Module = function (bytes) {
    if (bytes[8] === 5)
        throw new Error('no memory of 64 bits');
    return new Module(bytes);
};
console.warn = () => {};
runInThisContext(readFileSync(`${reader}/engine_bundle.node.js`, 'utf8'));

const {port1, port2} = new MessageChannel();
self.onmessage({data: port1});
class Engine extends EngineBase {
    rpcSendRequestBytes(bytes) { port2.postMessage(bytes); }
}
const engine = new Engine();
port2.onmessage = message => engine.onRpcResponseBytes(message.data);

// The rows of a query whose columns are numbers and texts.
async function rows(sql, columns) {
    const found = [];
    for (const at = (await engine.query(sql)).iter(columns); at.valid(); at.next())
        found.push(Object.keys(columns).map(name => at[name]));
    return found;
}

await engine.parse(new Uint8Array(readFileSync(trace)));
await engine.notifyEof();
assert.deepStrictEqual(
    await rows("SELECT name, value FROM stats WHERE severity <> 'info' AND value <> 0", {name: 'str', value: 0}), []);

const result = JSON.parse(readFileSync(resultFile));
const delivered = result.tokens.delivered;
assert(delivered > 100);
assert.deepStrictEqual(await rows('SELECT name, count(*) AS n FROM slice GROUP BY 1 ORDER BY 1', {name: 'str', n: 0}), [
    ['collector', 1 + result.collector.deaths], ['dequeue and write', delivered], ['insert and commit', delivered],
    ['schedule lag', delivered], ['terminate-backend', 1], ['token', delivered], ['wait in batch', delivered]]);

// Each stage lies within its token's span, and the four add up to it, except for rounding in JSON's
// doubles.
assert.deepStrictEqual(await rows(`SELECT count(*) AS n, count(DISTINCT t.id) AS tokens
    FROM slice s JOIN slice t ON t.id = s.parent_id WHERE t.name = 'token'`, {n: 0, tokens: 0}),
    [[4 * delivered, delivered]]);
assert.deepStrictEqual(await rows(`SELECT count(*) AS n FROM slice t WHERE name = 'token'
    AND abs(dur - (SELECT sum(dur) FROM slice s WHERE s.parent_id = t.id)) > 8`, {n: 0}), [[0]]);
// A slice that does not end has a length of -1.
assert.deepStrictEqual(await rows('SELECT count(*) AS n FROM slice WHERE dur < 0', {n: 0}), [[0]]);

// The fault: when, how long, and what was seen of it.
const [fault] = result.faults;
const [[at, detail]] = await rows(`SELECT (ts - (SELECT min(ts) FROM slice WHERE name = 'collector')) AS at,
    extract_arg(arg_set_id, 'args.detail') AS detail FROM slice WHERE name = 'terminate-backend'`, {at: 0, detail: 'str'});
assert(at > 1e9, 'the fault comes a second after the load began, and the collector before');
assert.strictEqual(detail, fault.evidence);
console.log(`${delivered} tokens`);
port2.close();
NODE
reads() {
    node read.mjs "$reader" "$1" "$folder/result.json" >read.out 2>read.err
}
reads "$folder/trace.json" || fail "$(cat read.out read.err)"
# The reader notices a span that is missing, out of time or not ended.
for damage in '0,/"ph":"e"/{/"ph":"e"/d}' 's/"ts":0.000/"ts":-1.000/' 's/"name":"wait in batch"/"name":"wait"/' \
    '0,/"schedule lag"/{/"schedule lag"/s/"ts":/"ts":9/}' '/terminate-backend/d'; do
    sed "$damage" "$folder/trace.json" >damaged.json
    ! cmp -s "$folder/trace.json" damaged.json || fail "$damage finds nothing"
    ! reads damaged.json || fail "$damage is not noticed"
done
echo "Perfetto can read it"
