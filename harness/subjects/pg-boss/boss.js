// Starts pg-boss, which needs a URL or the parts of one, and does not read libpq's variables.
"use strict";
const { PgBoss } = require("pg-boss");

// Repeats the start until the server is there, as a supervisor does.
exports.start = async function start(options) {
    const env = process.env;
    const boss = new PgBoss({
        host: env.PGHOST,
        port: Number(env.PGPORT || 5432),
        user: env.PGUSER,
        password: env.PGPASSWORD,
        database: env.PGDATABASE,
        ...options,
    });
    boss.on("error", (error) => process.stderr.write(`${error.message}\n`));
    for (;;) {
        try {
            return await boss.start();
        } catch (error) {
            process.stderr.write(`start: ${error.message}\n`);
            await new Promise((wake) => setTimeout(wake, 200));
        }
    }
};
