// The providers in the SDKs of OpenFeature, against a service that runs.
import assert from "node:assert/strict";
import { test } from "node:test";

import { OpenFeature } from "@openfeature/server-sdk";
import { OpenFeature as WebOpenFeature } from "@openfeature/web-sdk";
import { Client } from "allais";
import { AllaisProvider, AllaisWebProvider } from "allais/openfeature";

const { ALLAIS_ADDRESS: address, ALLAIS_KEY: key } = process.env;
const client = new Client(address, key);
let made = 0;

async function created(arms, changes = {}) {
  made += 1;
  const name = `flag-${process.pid}-${made}`;
  await client.call("POST", "/v1/experiments", {
    name, arms, policy: { type: "NPTS" }, preference: { name: "expected_value" },
    rewards: { type: "Bounded", low: 0, high: 50 }, seed: 1, ...changes,
  });
  return name;
}

const shown = (name) => client.call("GET", `/v1/experiments/${name}`);

test("a flag is an experiment: its variant an arm, its targeting key a person, its outcome a tracked value", async () => {
  const flag = await created(["short", "long"]);
  const provider = new AllaisProvider(client, { outcomes: { "order-placed": flag } });
  await OpenFeature.setProviderAndWait("orders", provider);
  const flags = OpenFeature.getClient("orders");
  const details = await flags.getStringDetails(flag, "none", { targetingKey: "alice" });
  assert.ok(["short", "long"].includes(details.value));
  assert.equal(details.variant, details.value);
  assert.equal(details.reason, "SPLIT");
  assert.equal(typeof details.flagMetadata.choice, "number");
  assert.match(details.flagMetadata.why, /\w/);
  flags.track("order-placed", { targetingKey: "alice" }, { value: 31.5 });
  const other = await flags.getStringDetails(flag, "none");
  flags.track(flag, {}, { value: 12, choice: other.flagMetadata.choice });
  await provider.flush();
  const { outcomes, open_decisions: open } = await shown(flag);
  assert.deepEqual([outcomes, open], [2, 0]);
  const rows = (await client.call("GET", `/v1/experiments/${flag}/export`)).trim().split("\n").map(JSON.parse);
  assert.deepEqual(rows.map((row) => [row.person, row.outcome]), [["alice", 31.5], [null, 12]]);
});

test("arms stand for booleans, numbers and objects, and a mismatch is said and cancelled", async () => {
  const [onOff, size, layout] = [await created(["on", "off"]), await created(["10", "25"]), await created(["a", "b"])];
  const values = { [layout]: { a: { columns: 1 }, b: { columns: 2 } } };
  await OpenFeature.setProviderAndWait("types", new AllaisProvider(client, { values }));
  const flags = OpenFeature.getClient("types");
  assert.equal(typeof (await flags.getBooleanDetails(onOff, false)).value, "boolean");
  assert.equal((await flags.getBooleanDetails(onOff, false)).errorCode, undefined);
  assert.ok([10, 25].includes(await flags.getNumberValue(size, -1)));
  assert.ok([1, 2].includes((await flags.getObjectValue(layout, {})).columns));
  const wrong = await flags.getNumberDetails(onOff, -1);
  assert.deepEqual([wrong.value, wrong.errorCode], [-1, "TYPE_MISMATCH"]);
  assert.match(wrong.errorMessage, /an arm must stand for a number here; "(on|off)"/);
  assert.equal((await shown(onOff)).open_decisions, 2); // the third was cancelled
});

test("a person keeps a decision until its outcome is told", async () => {
  const flag = await created(["short", "long"]);
  const provider = new AllaisProvider(client, { keep: 60_000 });
  await OpenFeature.setProviderAndWait("kept", provider);
  const flags = OpenFeature.getClient("kept");
  const first = await flags.getStringDetails(flag, "none", { targetingKey: "alice" });
  const again = await flags.getStringDetails(flag, "none", { targetingKey: "alice" });
  assert.deepEqual([again.value, again.reason], [first.value, "CACHED"]);
  assert.equal((await shown(flag)).open_decisions, 1);
  flags.track(flag, { targetingKey: "alice" }, { value: 3 });
  await provider.flush();
  assert.equal((await flags.getStringDetails(flag, "none", { targetingKey: "alice" })).reason, "SPLIT");
});

test("what goes wrong gives the default, a code and the service's sentence", async () => {
  const flag = await created(["short", "long"]);
  const errors = [];
  const provider = new AllaisProvider(client, { onError: (error) => errors.push(error.message) });
  await OpenFeature.setProviderAndWait("wrong", provider);
  const flags = OpenFeature.getClient("wrong");
  const none = await flags.getStringDetails("no-such-flag", "default");
  assert.deepEqual([none.value, none.errorCode], ["default", "FLAG_NOT_FOUND"]);
  assert.match(none.errorMessage, /an experiment must exist/);
  await client.call("POST", `/v1/experiments/${flag}/pause`);
  const paused = await flags.getStringDetails(flag, "default");
  assert.deepEqual([paused.value, paused.reason, paused.errorCode], ["default", "DISABLED", undefined]);
  flags.track(flag, { targetingKey: "nobody" }, { value: 1 });
  await provider.flush();
  assert.match(errors[0], /an outcome belongs to a decision/);
  await OpenFeature.setProviderAndWait("away", new AllaisProvider(new Client("http://127.0.0.1:1", "k", { tries: 1 })));
  const away = await OpenFeature.getClient("away").getStringDetails(flag, "default");
  assert.deepEqual([away.value, away.errorCode], ["default", "GENERAL"]);
});

test("in a browser, flags are decided when the context is set", async () => {
  const flag = await created(["short", "long"], { test: { shares: { short: 1, long: 1 } } });
  const provider = new AllaisWebProvider(client, { flags: [flag, "no-such-flag"] });
  await WebOpenFeature.setContext({ targetingKey: "alice", page: 1 });
  await WebOpenFeature.setProviderAndWait(provider);
  const flags = WebOpenFeature.getClient();
  const first = flags.getStringDetails(flag, "none");
  assert.ok(["short", "long"].includes(first.value));
  assert.equal(flags.getStringDetails("no-such-flag", "none").errorCode, "FLAG_NOT_FOUND");
  assert.match(flags.getStringDetails("unlisted", "none").errorMessage, /not among the `flags`/);
  await WebOpenFeature.setContext({ targetingKey: "alice", page: 2 });
  assert.equal(flags.getStringDetails(flag, "none").flagMetadata.choice, first.flagMetadata.choice);
  flags.track(flag, { value: 7 });
  await provider.flush();
  await WebOpenFeature.setContext({ targetingKey: "bob" });
  assert.notEqual(flags.getStringDetails(flag, "none").flagMetadata.choice, first.flagMetadata.choice);
  const { outcomes, open_decisions: open } = await shown(flag);
  assert.deepEqual([outcomes, open], [1, 1]);
});
