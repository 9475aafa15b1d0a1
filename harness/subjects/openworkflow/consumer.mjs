// A worker of openworkflow, after its quick start. With the argument "schema" it only makes its
// tables. Without a host in the address its client takes PGHOST and the other variables.
import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import { handle } from "../answers.js";

// Its client refuses this value, which is libpq's default.
if (process.env.PGTARGETSESSIONATTRS === "any") delete process.env.PGTARGETSESSIONATTRS;
const address = `postgresql:///?options=${encodeURIComponent(process.env.PGOPTIONS || "")}`;
const backend = await BackendPostgres.connect(address);
if (process.argv[2] === "schema") {
    await backend.stop();
    process.exit(0);
}

const seen = new Map(); // how often this process has got each job
const client = new OpenWorkflow({ backend });
// By default a workflow that throws is not tried again, and a step throws, too, when its own request
// to the database fails.
client.defineWorkflow({ name: "t", retryPolicy: { maximumAttempts: 0 } }, async ({ input, step }) => {
    await step.run({ name: "got" }, async () => {
        seen.set(input.id, (seen.get(input.id) || 0) + 1);
        await handle(input.id, seen.get(input.id));
        return null;
    });
});
const worker = client.newWorker({ concurrency: 10 });
await worker.start();
process.on("SIGTERM", async () => {
    await worker.stop();
    await backend.stop();
});
